/* A Matern kernel: a polynomial of s times exp(-s), with s = sqrt(c gamma) ||x - z||. */
static real kernel_value(real product, real norm_z, real norm_x)
{
    const real both = norm_z + norm_x, squared = both - (product + product);
    /* The root of a rounding error is a large one: what may be zero is zero. */
    const real s = (real)KERNEL_SQRT(squared > KERNEL_ROUNDING * both ? KERNEL_SQUARE * squared : 0);
    return KERNEL_BEFORE_EXP(s) * decay(KERNEL_MINUS_LOG2E * s);
}

static double self_value(real norm)
{
    (void)norm;
    return 1.0;
}
