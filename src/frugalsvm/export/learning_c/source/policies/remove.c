/* Drop the smallest support vector, the oldest one of several. Returns the squared norm of what is lost. */
static double admit(context *self)
{
    double least, lost;
    slot j, oldest;
    if (self->n_slots <= NAME_BUDGET)
        return 0.0;
    least = self->sizes[0];
    for (j = 1; j < self->n_slots; ++j)
        least = self->sizes[j] < least ? self->sizes[j] : least;
    oldest = self->n_slots;
    for (j = 0; j < self->n_slots; ++j)
        if (self->sizes[j] <= least * (1.0 + 1e-12) && (oldest == self->n_slots || self->births[j] < self->births[oldest]))
            oldest = j;
    lost = self->sizes[oldest];
    free_slot(self, oldest);
    self->n_maintenance += 1;
    return lost;
}
