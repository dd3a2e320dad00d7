/* The same with every sum in double. */
static double exact_kernel(const real *x, const real *z)
{
    double product = 0.0;
    int f;
    for (f = 0; f < N_FEATURES; ++f)
        product += (double)x[f] * (double)z[f];
    return product;
}
