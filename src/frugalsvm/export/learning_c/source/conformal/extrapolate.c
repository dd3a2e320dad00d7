/* The threshold where no miss is due: the largest score, and after further misses more than that. */
static double beyond_all(const context *self, uint32_t n)
{
    const double n_more = -(self->misses_due + CONFORMAL_PATIENCE);
    double largest, spread, threshold;
    if (CONFORMAL_RATE * (double)(n + 1) + 1e-9 < 1.0)
        return ENDLESS;
    largest = self->ranked[n - 1];
    if (n_more <= 0.0)
        return largest;
    spread = largest - self->ranked[n / 2];
    if (spread <= 0.0)
        return ENDLESS;
    threshold = largest + spread * (pow(2.0, n_more < 64.0 ? n_more : 64.0) - 1.0);
    return threshold < ENDLESS ? threshold : ENDLESS;
}
