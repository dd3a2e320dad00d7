int name_decision(@row@, real *scores)
{
    real row[N_FEATURES];
@votes?    real values[N_OUTPUTS];
@cells?    int o;
@!cells?    int j, o;
    if (name_row(@passed@, row)) {
        for (o = 0; o < NAME_N_SCORES; ++o)
            scores[o] = NAN;
        return 1;
    }
    for (o = 0; o < N_OUTPUTS; ++o)
        @target@[o] = 0;
@cells?    name_add_cells(row, @target@);
@!cells?    for (j = 0; j < N_VECTORS; ++j) {
@!cells?        const real value = name_kernel(row, j);
@!cells?        for (o = 0; o < N_OUTPUTS; ++o)
@!cells?            @target@[o] += name_coefficients[j][o] * value;
@!cells?    }
    for (o = 0; o < N_OUTPUTS; ++o)
        @target@[o] += name_intercepts[o];
@votes?    name_votes(values, scores);
    for (o = 0; o < NAME_N_SCORES; ++o) {
        if (scores[o] != scores[o])
            return 1;
    }
    return 0;
}
