/* K(x, z) = exp(-gamma ||x - z||^2) from <x, z> and the squared norms of both. */
static real kernel_value(real product, real norm_z, real norm_x)
{
    const real exponent = KERNEL_TWICE_GAMMA * product - KERNEL_GAMMA * (norm_z + norm_x);
    return decay(exponent < 0 ? exponent : 0);
}

static double self_value(real norm)
{
    (void)norm;
    return 1.0;
}
