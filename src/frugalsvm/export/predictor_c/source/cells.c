static void name_add_cells(const real *row, real *scores)
{
    int t, j, k, o;
    for (t = 0; t < N_TREES; ++t) {
        int node = name_roots[t];
        while (node >= 0) {
            real projection = 0;
            for (k = 0; k < N_FEATURES; ++k)
                projection += row[k] * name_nodes[node][k];
            node = name_children[2 * node + (projection < name_cuts[node] ? 0 : 1)];
        }
        node = -node - 1;
        for (j = name_starts[node]; j < name_starts[node + 1]; ++j) {
            const real value = name_kernel(row, name_members[j]);
            for (o = 0; o < N_OUTPUTS; ++o)
                scores[o] += name_coefficients[j][o] * value;
        }
        for (o = 0; o < N_OUTPUTS; ++o)
            scores[o] += name_cell_intercepts[node][o];
    }
}
