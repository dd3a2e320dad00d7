/* K(x, z) = exp(-gamma sum_f |x_f - z_f|) from that sum. */
static real kernel_value(real distance, real norm_z, real norm_x)
{
    const real exponent = KERNEL_MINUS_GAMMA * distance;
    (void)norm_z;
    (void)norm_x;
    return decay(exponent < 0 ? exponent : 0);
}

static double self_value(real norm)
{
    (void)norm;
    return 1.0;
}
