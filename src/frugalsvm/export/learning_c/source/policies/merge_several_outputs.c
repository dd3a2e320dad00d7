/* Several outputs: all other vectors are partners. */
static real closeness_of(const context *self, slot m, slot j)
{
    return j == m ? -1 : self->kernel_row[j] > 0 ? self->kernel_row[j] : 0;
}

/* <a_m, a_j>, good enough for bounds. */
static real rough_overlap(const context *self, slot m, slot j)
{
    real sum = 0;
    int o;
    for (o = 0; o < N_OUTPUTS; ++o) {
        const real a = weight_of(self, o, m);
        if (a < 0 || a > 0) /* a newcomer has two coefficients */
            sum += a * weight_of(self, o, j);
    }
    return sum;
}

static double cosine_of(const context *self, slot m, slot j)
{
    const double cosine = (double)rough_overlap(self, m, j) / sqrt(self->sizes[m] * self->sizes[j]);
    return cosine > 0.0 ? (cosine < 1.0 ? cosine : 1.0) : 0.0;
}
