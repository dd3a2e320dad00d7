/* One output: vectors of the same sign are partners, unless there is none. */
static real closeness_of(const context *self, slot m, slot j)
{
    return j != m && weight_of(self, 0, j) * weight_of(self, 0, m) > 0 ? self->kernel_row[j] : -1;
}

static double cosine_of(const context *self, slot m, slot j)
{
    (void)self;
    (void)m;
    (void)j;
    return 1.0;
}
