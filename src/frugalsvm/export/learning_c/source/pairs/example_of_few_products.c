/* The row at hand and a support vector: up to eight features are added two and four at a time, as Python does. */
static real example_pair(const real *x, const real *z)
{
    real sum = pair_term(x[0], z[0]) + pair_term(x[1], z[1]);
    int f;
    for (f = 2; f + 4 <= N_FEATURES; f += 4)
        sum += (pair_term(x[f], z[f]) + pair_term(x[f + 1], z[f + 1]))
               + (pair_term(x[f + 2], z[f + 2]) + pair_term(x[f + 3], z[f + 3]));
    if (f + 2 <= N_FEATURES) {
        sum += pair_term(x[f], z[f]) + pair_term(x[f + 1], z[f + 1]);
        f += 2;
    }
    for (; f < N_FEATURES; ++f)
        sum += pair_term(x[f], z[f]);
    return sum;
}
