typedef int target; /* the index of the class: 0 stands for -1, and 1 for +1 */

/* What the row adds to the model: the direction, and the factor that is returned; 0: nothing. */
static double update_of(context *self, const target *wanted, const step_sizes *step)
{
    const double margin = *wanted == 1 ? self->scores[0] : -self->scores[0];
    const double size = step_size(self, step, step->before * margin);
    if (size > 0.0)
        self->direction[0] = *wanted == 1 ? 1.0 : -1.0;
    return size;
}
