"""The C99 function that makes of a row what the kernel sees: filled, encoded, clipped, scaled, in its metric."""

import numpy as np

from frugalsvm.export._c_files import written
from frugalsvm.export._c_tables import integers, matrix, strings, vector
from frugalsvm.export.models import mean_parts

_MEANS = ("mean", "rest_of_mean")  # see `mean_parts`


def row_words(model) -> str:
    """What a row is, for the header."""
    words = "x has NAME_N_FEATURES numbers"
    if model.filling is not None and model.n_numbers:
        words += ", NaN where one is missing"
    if model.encoder is not None:
        words += ";\n   text has NAME_N_TEXTS strings of UTF-8 in the order of name_text_names, "
        words += "NULL where one is\n   missing"
        words += "" if has_means(model) else ", and those that training did not have count as missing"
    return words


def text_names(names) -> str:
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
        yield f"const {text_names(names)} = {strings(model.encoder.names_)};"
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
    means = _MEANS[: len(_means(model, names))]
    shifted = " - ".join(["value", *(f"name_{what}[j]" for what in means)])
    scaled = f"({shifted})" if means else shifted
    return written(
        names,
        "row.c",
        out="row" if model.directions is None else "seen",
        directions=model.directions is not None,
        filling=model.filling is not None and model.n_numbers,
        indicated=model.indicated is not None,
        encoded=_encoded(model, names),
        scaling=any(each is not None for each in (model.mean, model.scale, model.bounds)),
        bounds=model.bounds is not None,
        room=model.room is not None and model.bounds is not None,
        hard=model.room is None and model.bounds is not None,
        scaled=scaled if model.scale is None else f"{scaled} / name_scale[j]",
    )


def _encoded(model, names):
    """How text becomes features: where it is among its categories, after which come missing ones and unknown ones."""
    if not needs_strings(model):
        return ""
    first = "N_NUMBERS" if model.indicated is None else "N_NUMBERS + N_INDICATED"
    return written(names, "text_as_means.c" if has_means(model) else "text_one_hot.c", first=first)
