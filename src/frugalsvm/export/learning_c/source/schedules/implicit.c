/* The exact minimum of the regularized loss of one example, near the model. */
static void advance(context *self, step_sizes *step)
{
    const double shrinking = 1.0 / (1.0 + SCHEDULE_ETA0 * SCHEDULE_LAMBDA);
    self->scale *= shrinking;
    step->eta = SCHEDULE_ETA0;
    step->raw = shrinking * SCHEDULE_ETA0 / self->scale;
}
