"""The C99 function that makes of a row what the kernel sees: filled, encoded, clipped, scaled, in its metric."""

import numpy as np

from frugalsvm.export._c_tables import integers, matrix, strings, vector
from frugalsvm.export.models import mean_parts

_MEANS = ("mean", "rest_of_mean")  # see `mean_parts`


def row_words(model, names) -> str:
    """What a row is, for the header."""
    words = f"x has {names.macro}_N_FEATURES numbers"
    if model.filling is not None and model.n_numbers:
        words += ", NaN where one is missing"
    if model.encoder is not None:
        words += (
            f";\n   text has {names.macro}_N_TEXTS strings of UTF-8 in the order of {names.prefix}_text_names, NULL "
            "where one is\n   missing"
        )
        words += "" if has_means(model) else ", and those that training did not have count as missing"
    return words


def text_names(model, names) -> str:
    """The table of names of the columns of text, without a const for itself."""
    return f"char *const {names.prefix}_text_names[{names.macro}_N_TEXTS]"


def needs_strings(model) -> bool:
    """Whether strings are compared."""
    return model.encoder is not None and model.encoder.n_encoded_ > 0


def has_means(model) -> bool:
    """Whether categories have means of the target, instead of a feature each, in some columns."""
    return model.encoder is not None and model.encoder.method == "target"


def row_sizes(model):
    """The constants that arrays are declared with; the kernel sees N_FEATURES numbers of a row."""
    yield f"N_FEATURES = {model.vectors.shape[1]}"
    yield f"N_INPUTS = {model.n_features}"
    yield f"N_NUMBERS = {model.n_numbers}"
    if model.indicated is not None:
        yield f"N_INDICATED = {len(model.indicated)}"
    if needs_strings(model):
        yield f"N_TEXTS = {len(model.encoder.names_)}"
        yield f"N_CATEGORIES = {sum(map(len, model.encoder.categories_))}"


def row_tables(model, names):
    """Definitions of the constant arrays that a row is prepared with."""
    size = "[N_INPUTS]"
    for what, values in zip(_MEANS, _means(model, names), strict=False):
        yield vector(names, what, size, values)
    if model.scale is not None:
        yield vector(names, "scale", size, model.scale)
    if model.filling is not None and model.n_numbers:
        yield vector(names, "filling", "[N_NUMBERS]", model.filling[: model.n_numbers])
    if model.bounds is not None:
        for what, values in zip(("least", "most"), model.bounds, strict=True):
            yield vector(names, what, size, values)
    if model.room is not None:
        yield vector(names, "room", size, model.room)
    if model.directions is not None:
        yield matrix(names, "directions", f"[N_FEATURES]{size}", model.directions)
    if model.indicated is not None:
        yield integers(names, "indicated", "[N_INDICATED]", model.indicated)
    if model.encoder is not None:
        yield f"const {text_names(model, names)} = {strings(model.encoder.names_)};"
    if needs_strings(model):
        categories = _categories(model.encoder)
        yield f"static const char *const {names.prefix}_categories[N_CATEGORIES] = {strings(categories)};"
        first = np.cumsum([0, *map(len, model.encoder.categories_)])
        yield integers(names, "first_category", "[N_TEXTS + 1]", first)
    if has_means(model):
        means = model.encoder.means_
        sizes = [each.size for each in means]
        yield integers(names, "n_encoded", "[N_TEXTS]", model.encoder.widths_)
        yield integers(names, "first_mean", "[N_TEXTS + 1]", np.cumsum([0, *sizes]))
        every = np.concatenate([*(each.ravel() for each in means), np.zeros(1)])  # C has no empty arrays
        yield vector(names, "means", f"[{len(every)}]", every)


def _categories(encoder):
    """The categories of all columns, one after the other."""
    for name, categories in zip(encoder.names_, encoder.categories_, strict=True):
        for category in categories.tolist():
            if "\0" in category:
                raise ValueError(f"Column {name!r} has the category {category!r}: C's strings end at a zero.")
            yield category


def _means(model, names):
    return [] if model.mean is None else mean_parts(model.mean, names.dtype)


def row_function(model, names) -> str:
    """Writes what the kernel sees of a row, and returns 1 if a number is not finite, or 0."""
    real, prefix = names.real, names.prefix
    has_directions = model.directions is not None
    lines = [f"static int {prefix}_row({names.row}, {real} *{'seen' if has_directions else 'row'})", "{"]
    lines += [f"    {real} row[N_INPUTS];"] if has_directions else []
    lines += ["    int j;", *_numbers(model, names), *_indicators(model, names), *_encoded(model, names)]
    if any(each is not None for each in (model.mean, model.scale, model.bounds)):
        lines += _scaling(model, names)
    lines += _mapping(names) if has_directions else []
    return "\n".join([*lines, "    return 0;", "}"])


def _numbers(model, names):
    filled = "x[j]"
    if model.filling is not None and model.n_numbers:
        filled = f"x[j] != x[j] ? {names.prefix}_filling[j] : x[j]"
    yield "    for (j = 0; j < N_NUMBERS; ++j) {"
    yield f"        row[j] = {filled};"
    yield "        if (!isfinite(row[j]))"
    yield "            return 1;"
    yield "    }"


def _indicators(model, names):
    if model.indicated is None:
        return
    place = f"x[{names.prefix}_indicated[j]]"
    yield "    for (j = 0; j < N_INDICATED; ++j)"
    yield f"        row[N_NUMBERS + j] = {place} != {place} ? {names.literal(1.0)} : {names.literal(0.0)};"


def _encoded(model, names):
    if not needs_strings(model):
        return ()
    first = "N_NUMBERS" if model.indicated is None else "N_NUMBERS + N_INDICATED"
    return _with_means(names, first) if has_means(model) else _one_hot(names, first)


def _with_means(names, first):
    """Where a text is among its categories, after which come missing ones and unknown ones; then its features."""
    prefix, one, zero = names.prefix, names.literal(1.0), names.literal(0.0)
    yield "    {"
    yield f"        {names.real} *next = row + {first};"
    yield "        for (j = 0; j < N_TEXTS; ++j) {"
    yield f"            const int first = {prefix}_first_category[j], n_known = {prefix}_first_category[j + 1] - first;"
    yield f"            const int width = {prefix}_n_encoded[j];"
    yield f"            const int has_means = {prefix}_first_mean[j + 1] > {prefix}_first_mean[j];"
    yield "            int k, place = text[j] && text[j][0] ? n_known + 1 : n_known;"
    yield "            for (k = 0; k < n_known; ++k)"
    yield f"                if (text[j] && strcmp(text[j], {prefix}_categories[first + k]) == 0)"
    yield "                    place = k;"
    yield "            for (k = 0; k < width; ++k) {"
    yield f"                const {names.real} hot = k == place ? {one} : {zero};"
    yield f"                next[k] = has_means ? {prefix}_means[{prefix}_first_mean[j] + place * width + k] : hot;"
    yield "            }"
    yield "            next += width;"
    yield "        }"
    yield "    }"


def _one_hot(names, first):
    prefix = names.prefix
    yield "    for (j = 0; j < N_TEXTS; ++j) {"
    yield "        int k;"
    yield f"        for (k = {prefix}_first_category[j]; k < {prefix}_first_category[j + 1]; ++k) {{"
    yield f"            const int is_it = text[j] && strcmp(text[j], {prefix}_categories[k]) == 0;"
    yield f"            row[{first} + k] = is_it ? {names.literal(1.0)} : {names.literal(0.0)};"
    yield "        }"
    yield "    }"


def _scaling(model, names):
    real, prefix = names.real, names.prefix
    yield "    for (j = 0; j < N_INPUTS; ++j) {"
    yield f"        {real} value = row[j];"
    if model.bounds is not None:
        least, most, room = f"{prefix}_least[j]", f"{prefix}_most[j]", f"{prefix}_room[j]"
        yield f"        const {real} clipped = value > {most} ? {most} : value < {least} ? {least} : value;"
        if model.room is not None:
            size = f"{names.literal(1.0)} + fabs{names.suffix}(value - clipped) / {room}"
            yield f"        const {real} more = {room} - {room} / ({size});"
            yield "        value = value < clipped ? clipped - more : clipped + more;"
        else:
            yield "        value = clipped;"
    means = _MEANS[: len(_means(model, names))]
    shifted = " - ".join(["value", *(f"{prefix}_{what}[j]" for what in means)])
    shifted = f"({shifted})" if means else shifted
    yield f"        row[j] = {shifted}{f' / {prefix}_scale[j]' if model.scale is not None else ''};"
    yield "    }"


def _mapping(names):
    yield "    for (j = 0; j < N_FEATURES; ++j) {"
    yield "        int k;"
    yield "        seen[j] = 0;"
    yield "        for (k = 0; k < N_INPUTS; ++k)"
    yield f"            seen[j] += {names.prefix}_directions[j][k] * row[k];"
    yield "    }"
