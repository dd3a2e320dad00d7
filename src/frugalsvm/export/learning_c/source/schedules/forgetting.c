/* Steps of 1 / (lambda min(t, clock)): what was learned counts less and less. */
static void advance(context *self, step_sizes *step)
{
    const double t = (double)self->n_seen, clock = t < SCHEDULE_CLOCK ? t : SCHEDULE_CLOCK;
    step->eta = 1.0 / (SCHEDULE_LAMBDA * clock);
    if (self->n_seen == 1) {
        self->scale = step->eta;
        step->raw = 1.0;
    } else {
        self->scale *= 1.0 - 1.0 / clock;
        step->raw = step->eta / self->scale;
    }
}
