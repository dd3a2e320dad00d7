/* Steps of eta0, no shrinking. */
static void advance(context *self, step_sizes *step)
{
    step->eta = SCHEDULE_ETA0;
    step->raw = SCHEDULE_ETA0 / self->scale;
}
