/* Below this score rows are outliers. */
static double offset_of(const context *self)
{
    return self->n_looks > 0 ? self->offset : self->n_scores > 0 ? quantile(self, WINDOW_RATE) : 0.0;
}
