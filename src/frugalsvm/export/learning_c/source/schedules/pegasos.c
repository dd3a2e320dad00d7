/* Steps of 1 / (lambda t). The scale is that exactly, so that a new example has a coefficient of exactly 1. */
static void advance(context *self, step_sizes *step)
{
    step->eta = 1.0 / (SCHEDULE_LAMBDA * (double)self->n_seen);
    self->scale = step->eta;
    step->raw = 1.0;
}

/* Coefficients are at most t: double holds them for longer than any device will run. */
static void keep_scale(context *self)
{
    (void)self;
}
