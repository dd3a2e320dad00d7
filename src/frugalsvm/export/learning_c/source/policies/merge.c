/* Write the merged vector h x_m + (1-h) x_n, and its coefficients, into slot n. */
static void write_merged(context *self, slot m, slot n, double h, double log_kappa)
{
    const real near = (real)h, far = (real)(1.0 - h);
    const double exponent = log_kappa * 1.4426950408889634;
    const double u = exp2_nonpositive((1.0 - h) * (1.0 - h) * exponent), v = exp2_nonpositive(h * h * exponent);
    int f, o;
    for (f = 0; f < N_FEATURES; ++f)
        self->rows[n][f] = near * self->rows[m][f] + far * self->rows[n][f];
    self->norms[n] = row_norm(self->rows[n]);
    for (o = 0; o < N_OUTPUTS; ++o)
        set_coefficient(self, o, n, u * self->coef[o][m] + v * self->coef[o][n]);
    self->births[n] = self->n_seen;
    refresh_slot(self, n);
}

/* Merge the smallest support vector with its best partner. Returns the squared norm of what is lost. */
static double admit(context *self)
{
    slot m, partner;
    double h, lost, log_kappa;
    if (self->n_slots <= NAME_BUDGET)
        return 0.0;
    m = smallest_or_newcomer(self);
    if (m != self->n_slots - 1)
        slot_kernel_row(self, m);
    partner = best_partner(self, m, &h, &lost);
    log_kappa = log_kernel_value(self, partner);
    write_merged(self, m, partner, h, log_kappa);
    free_slot(self, m);
    self->n_maintenance += 1;
    return lost;
}
