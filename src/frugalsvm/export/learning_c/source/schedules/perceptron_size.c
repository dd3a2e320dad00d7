/* The coefficient, times its sign, of a row with this margin; 0: it is not learned. */
static double step_size(const context *self, const step_sizes *step, double margin)
{
    (void)self;
    return margin <= 0.0 || margin < SCHEDULE_MARGIN ? step->weight * step->raw : 0.0;
}
