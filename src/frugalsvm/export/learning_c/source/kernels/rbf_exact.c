/* The same with every sum in double. */
static double exact_kernel(const real *x, const real *z)
{
    const double exponent = -EXACT_GAMMA * exact_squared(x, z);
    return exponent > EXACT_LOWEST ? exp(exponent) : 0.0;
}
