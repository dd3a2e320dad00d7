/* The partner of m with the least degradation, where it is least, and how large. First comes the nearest with a cosine
   above 0.7, if there is one. */
static slot best_partner(const context *self, slot m, double *h, double *lost)
{
    const real half = (real)(0.5 * self->sizes[m]);
    real most = -2;
    slot first = 0, j;
    for (j = 0; j < self->n_slots; ++j) {
        const real overlap = rough_overlap(self, m, j);
        const real aligned = overlap * (overlap < 0 ? -overlap : overlap) - half * (real)self->sizes[j];
        const real closeness = j == m ? -2 : aligned > 0 ? self->kernel_row[j] : self->kernel_row[j] + -1;
        if (closeness > most) {
            most = closeness;
            first = j;
        }
    }
    return search_partner(self, m, first, h, lost);
}
