typedef double target; /* the score of the row is left there */

/* What the row adds to the model: the direction, and the factor that is returned; 0: nothing. */
static double update_of(context *self, target *wanted, const step_sizes *step)
{
    *wanted = step->before * self->scores[0];
    self->direction[0] = 1.0;
    return *wanted < threshold_of(self) ? step->weight * step->raw : 0.0;
}
