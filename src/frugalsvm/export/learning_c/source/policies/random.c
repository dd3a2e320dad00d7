/* A random number from 0 to n - 1 (Marsaglia 2003, period 2^64 - 1). */
static slot random_below(context *self, slot n)
{
    uint64_t x = self->random_state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    self->random_state = x;
    return (slot)(((x >> 32) * n) >> 32);
}

/* Remove one of the old support vectors. Returns the squared norm of what is lost. */
static double admit(context *self)
{
    slot dropped;
    double lost;
    if (self->n_slots <= NAME_BUDGET)
        return 0.0;
    dropped = random_below(self, self->n_slots - 1);
    lost = self->sizes[dropped];
    free_slot(self, dropped);
    self->n_maintenance += 1;
    return lost;
}
