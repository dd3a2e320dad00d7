/* The threshold for the next row, which may be infinite. */
static double open_threshold(const context *self)
{
    const double threshold = self->threshold_of_scores;
    return fabs(threshold) < ENDLESS ? threshold : threshold > 0.0 ? (double)INFINITY : -(double)INFINITY;
}
