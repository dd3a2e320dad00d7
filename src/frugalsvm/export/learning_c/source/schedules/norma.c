/* Steps of eta0 / sqrt(t). */
static void advance(context *self, step_sizes *step)
{
    step->eta = SCHEDULE_ETA0 / sqrt((double)self->n_seen);
    self->scale *= 1.0 - step->eta * SCHEDULE_LAMBDA;
    step->raw = step->eta / self->scale;
}
