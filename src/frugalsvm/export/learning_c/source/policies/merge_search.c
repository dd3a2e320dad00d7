/* Score a first candidate, then whoever might be better: bounds leave few of them. */
static slot search_partner(const context *self, slot m, slot first, double *h, double *lost)
{
    const double A = self->sizes[m], slack = 1.0 + 1e-4; /* bounds may be computed from float numbers */
    slot best = first, j;
    real reach;
    *lost = merging_loss(self, m, first, h);
    reach = (real)(least_winning_kappa(*lost / A) / slack);
    for (j = 0; j < self->n_slots; ++j) {
        const real closeness = closeness_of(self, m, j);
        double kappa, bound, own_h, own_lost;
        if (j == first || closeness < 0 || closeness < reach)
            continue;
        kappa = (double)closeness;
        bound = lower_bound(kappa < 1.0 ? kappa : 1.0, self->sizes[j] / A, cosine_of(self, m, j));
        if (A * bound > *lost * slack)
            continue;
        own_lost = merging_loss(self, m, j, &own_h);
        if (own_lost < *lost || (own_lost == *lost && j < best)) {
            best = j;
            *h = own_h;
            *lost = own_lost;
            reach = (real)(least_winning_kappa(*lost / A) / slack);
        }
    }
    return best;
}
