"""The C99 of models in cells: tables of the trees, and the sum over the vectors of the cells that a row falls into."""

import numpy as np

from frugalsvm.export._c_tables import integers, matrix, vector


def cell_sizes(model):
    """The constants that the tables are declared with; C has no empty arrays."""
    cells = model.cells
    yield f"N_NODES = {max(len(cells.cuts), 1)}"
    yield f"N_TREES = {len(cells.roots)}"
    yield f"N_CELLS = {len(cells.intercepts)}"
    yield f"N_MEMBERS = {max(len(cells.members), 1)}"


def cell_tables(model, names):
    """Definitions of the constant arrays of the trees, and of what their cells have."""
    cells = model.cells
    yield matrix(names, "nodes", "[N_NODES][N_FEATURES]", _not_empty(cells.directions))
    yield vector(names, "cuts", "[N_NODES]", _not_empty(cells.cuts))
    yield integers(names, "children", "[2 * N_NODES]", _not_empty(cells.children).ravel())
    yield integers(names, "roots", "[N_TREES]", cells.roots)
    yield integers(names, "starts", "[N_CELLS + 1]", cells.starts)
    yield integers(names, "members", "[N_MEMBERS]", _not_empty(cells.members))
    yield matrix(names, "coefficients", "[N_MEMBERS][N_OUTPUTS]", _not_empty(model.coefficients.T))
    yield matrix(names, "cell_intercepts", "[N_CELLS][N_OUTPUTS]", cells.intercepts)


def _not_empty(values):
    return values if len(values) else np.zeros((1, *values.shape[1:]), values.dtype)


def cell_function(names):
    """Adds what the cells of a row have to say to its scores."""
    real, prefix = names.real, names.prefix
    return "\n".join([
        f"static void {prefix}_add_cells(const {real} *row, {real} *scores)",
        "{",
        "    int t, j, k, o;",
        "    for (t = 0; t < N_TREES; ++t) {",
        f"        int node = {prefix}_roots[t];",
        "        while (node >= 0) {",
        f"            {real} projection = 0;",
        "            for (k = 0; k < N_FEATURES; ++k)",
        f"                projection += row[k] * {prefix}_nodes[node][k];",
        f"            node = {prefix}_children[2 * node + (projection < {prefix}_cuts[node] ? 0 : 1)];",
        "        }",
        "        node = -node - 1;",
        f"        for (j = {prefix}_starts[node]; j < {prefix}_starts[node + 1]; ++j) {{",
        f"            const {real} value = {prefix}_kernel(row, {prefix}_members[j]);",
        "            for (o = 0; o < N_OUTPUTS; ++o)",
        f"                scores[o] += {prefix}_coefficients[j][o] * value;",
        "        }",
        "        for (o = 0; o < N_OUTPUTS; ++o)",
        f"            scores[o] += {prefix}_cell_intercepts[node][o];",
        "    }",
        "}",
    ])  # fmt: skip
