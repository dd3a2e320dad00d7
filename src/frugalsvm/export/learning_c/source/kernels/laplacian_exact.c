/* The same with every sum in double. */
static double exact_kernel(const real *x, const real *z)
{
    double distance = 0.0, exponent;
    int f;
    for (f = 0; f < N_FEATURES; ++f)
        distance += fabs((double)x[f] - (double)z[f]);
    exponent = -EXACT_GAMMA * distance;
    return exponent > EXACT_LOWEST ? exp(exponent) : 0.0;
}
