/* Take a slot out of the span. Returns its squared distance to the others; solved is its projection on them. */
static double narrow_span(context *self, slot n, slot dropped)
{
    const slot last = n - 1;
    const double pivot = self->inverse[dropped][dropped], distance = 1.0 / pivot;
    slot i, j;
    for (j = 0; j < n; ++j)
        self->solved[j] = -self->inverse[j][dropped] * distance;
    for (i = 0; i < n; ++i) {
        const double factor = self->inverse[dropped][i] / pivot;
        if (i == dropped)
            continue;
        for (j = 0; j < n; ++j)
            self->inverse[i][j] -= factor * self->inverse[dropped][j];
    }
    if (dropped != last) {
        for (j = 0; j < last; ++j) {
            self->inverse[dropped][j] = self->inverse[last][j];
            self->inverse[j][dropped] = self->inverse[j][last];
        }
        self->inverse[dropped][dropped] = self->inverse[last][last];
    }
    self->n_covered = last;
    return distance;
}

/* Project the smallest support vector on all others, and a newcomer that is nearly in their span at once. Returns the
   squared norm of what is lost. */
static double admit(context *self)
{
    const slot n = self->n_slots, newcomer = n - 1;
    double distance = newcomer_distance(self, 2 * (uint64_t)NAME_BUDGET, 1e-4);
    slot dropped = newcomer;
    if (distance > 0.0 && n <= NAME_BUDGET) {
        widen_span(self, newcomer, distance);
        return 0.0;
    }
    if (distance > 0.0)
        dropped = smallest_or_newcomer(self);
    if (dropped != newcomer) {
        widen_span(self, newcomer, distance);
        distance = narrow_span(self, n, dropped);
    }
    return replace_by_projection(self, dropped, distance);
}
