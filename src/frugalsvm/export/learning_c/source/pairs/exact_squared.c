/* The squared distance of two rows, with every sum in double. */
static double exact_squared(const real *x, const real *z)
{
    double product = 0.0, norm_x = 0.0, norm_z = 0.0, squared;
    int f;
    for (f = 0; f < N_FEATURES; ++f) {
        const double a = (double)x[f], b = (double)z[f];
        product += a * b;
        norm_x += a * a;
        norm_z += b * b;
    }
    squared = norm_x + norm_z - 2.0 * product;
    return squared > 0.0 ? squared : 0.0;
}
