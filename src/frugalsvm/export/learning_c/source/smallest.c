/* The first of the smallest slots, up to rounding; the newcomer, which is the last, if it is among them. */
static slot smallest_or_newcomer(const context *self)
{
    const slot newcomer = self->n_slots - 1;
    double least = self->sizes[0];
    slot j;
    for (j = 1; j < newcomer; ++j)
        least = self->sizes[j] < least ? self->sizes[j] : least;
    if (self->sizes[newcomer] <= least * (1.0 + 1e-9))
        return newcomer;
    for (j = 0; j < newcomer; ++j)
        if (self->sizes[j] <= least * (1.0 + 1e-12))
            return j;
    return newcomer;
}
