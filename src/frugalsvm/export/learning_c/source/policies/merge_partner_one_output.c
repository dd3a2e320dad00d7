/* The partner of m with the least degradation, where it is least, and how large. */
static slot best_partner(const context *self, slot m, double *h, double *lost)
{
    slot first = 0, j;
    double kappa, rest;
    for (j = 1; j < self->n_slots; ++j)
        if (closeness_of(self, m, j) > closeness_of(self, m, first))
            first = j;
    if (!(closeness_of(self, m, first) < 0))
        return search_partner(self, m, first, h, lost);
    /* Opposed coefficients are best merged at h = 0, where A (1 - kappa^2) is lost: the nearest is best. */
    first = m == 0 ? 1 : 0;
    for (j = 0; j < self->n_slots; ++j)
        if (j != m && self->kernel_row[j] > self->kernel_row[first])
            first = j;
    kappa = (double)self->kernel_row[first];
    rest = 1.0 - kappa * kappa;
    *h = 0.0;
    *lost = self->sizes[m] * (rest > 0.0 ? rest : 0.0);
    return first;
}
