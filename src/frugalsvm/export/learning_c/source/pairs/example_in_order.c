/* The row at hand and a support vector, feature by feature. */
static real example_pair(const real *x, const real *z)
{
    real sum = 0;
    int f;
    for (f = 0; f < N_FEATURES; ++f)
        sum += pair_term(x[f], z[f]);
    return sum;
}
