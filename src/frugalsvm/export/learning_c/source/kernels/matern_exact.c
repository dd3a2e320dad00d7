/* The same with every sum in double. */
static double exact_kernel(const real *x, const real *z)
{
    const double s = sqrt(EXACT_SQUARE * exact_squared(x, z));
    return EXACT_BEFORE_EXP(s) * (-s > EXACT_LOWEST ? exp(-s) : 0.0);
}
