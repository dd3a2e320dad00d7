typedef int target; /* the index of the class */

/* What the row adds to the model: the direction, and the factor that is returned; 0: nothing. */
static double update_of(context *self, const target *wanted, const step_sizes *step)
{
    int rival = *wanted == 0 ? 1 : 0, i;
    double size;
    for (i = rival; i < N_OUTPUTS; ++i)
        if (i != *wanted && self->scores[i] > self->scores[rival])
            rival = i;
    size = step_size(self, step, step->before * (self->scores[*wanted] - self->scores[rival]));
    if (size > 0.0) {
        for (i = 0; i < N_OUTPUTS; ++i)
            self->direction[i] = 0.0;
        self->direction[*wanted] = 1.0;
        self->direction[rival] = -1.0;
    }
    return size;
}
