/* What the kernel is a function of: sums of absolute differences. */
static real pair_term(real a, real b)
{
    return a > b ? a - b : b - a;
}

static real row_norm(const real *x)
{
    real sum = 0;
    int f;
    for (f = 0; f < N_FEATURES; ++f)
        sum += x[f] * x[f];
    return sum;
}
