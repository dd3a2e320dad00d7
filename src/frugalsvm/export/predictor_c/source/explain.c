int name_explain(@row@, real *shares)
{
    real row[N_FEATURES];
@integrals?    real gaps[N_FEATURES], before[N_FEATURES], integrals[N_FEATURES];
    int j, k, o;
    if (name_row(@passed@, row)) {
        for (k = 0; k < NAME_N_FEATURES * N_OUTPUTS; ++k)
            shares[k] = NAN;
        return 1;
    }
    for (k = 0; k < NAME_N_FEATURES * N_OUTPUTS; ++k)
        shares[k] = 0;
    for (j = 0; j < N_VECTORS; ++j) {
@integrals@
        for (k = 0; k < N_FEATURES; ++k) {
            const real share = @share@;
            for (o = 0; o < N_OUTPUTS; ++o)
                shares[@place@ * N_OUTPUTS + o] += name_coefficients[j][o] * share;
        }
    }
    return 0;
}
