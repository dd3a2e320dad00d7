/* The coefficient, times its sign, of a row with this margin; 0: it is not learned. */
static double step_size(const context *self, const step_sizes *step, double margin)
{
    const double own = self_value(step->norm), shrunk = margin / (1.0 + SCHEDULE_ETA0 * SCHEDULE_LAMBDA);
    double most, exact;
    if (shrunk >= 1.0 || own <= 0.0)
        return 0.0;
    most = step->weight * step->raw;
    exact = (1.0 - shrunk) / (own * self->scale);
    return most < exact ? most : exact;
}
