/* The row at hand and a support vector: up to eight features are added four at a time, as Python does. */
static real example_pair(const real *x, const real *z)
{
    real sum = 0;
    int f;
    for (f = 0; f + 4 <= N_FEATURES; f += 4)
        sum += (pair_term(x[f], z[f]) + pair_term(x[f + 1], z[f + 1]))
               + (pair_term(x[f + 2], z[f + 2]) + pair_term(x[f + 3], z[f + 3]));
    for (; f < N_FEATURES; ++f)
        sum += pair_term(x[f], z[f]);
    return sum;
}
