/* The largest phi in (0, 1] with Psi(phi sigma, phi mu) <= slack, which is positive. */
static double shrinking(double sigma, double mu, double slack)
{
    const double a = sigma * sigma - 2.0 * sigma * mu, b = 2.0 * sigma, inner = b * b + 4.0 * a * slack;
    if (a + b <= slack)
        return 1.0;
    return 2.0 * slack / (b + sqrt(inner > 0.0 ? inner : 0.0));
}

/* The value of the model at one of its slots, without the scale. */
static real value_at(context *self, slot m)
{
    real total = 0;
    slot j;
    for (j = 0; j < self->n_slots; ++j) {
        const real pair = example_pair(self->rows[m], self->rows[j]);
        total += weight_of(self, 0, j) * kernel_value(pair, self->norms[j], self->norms[m]);
    }
    self->n_kernel_values += self->n_slots;
    return total;
}

/* Weaken all, so that little is lost, and remove the oldest (Dekel, Shalev-Shwartz & Singer 2008). Returns the squared
   norm of what is lost. */
static double admit(context *self)
{
    double value, alpha, sigma, mu, phi, lost;
    slot oldest = 0, j;
    if (self->n_slots <= NAME_BUDGET)
        return 0.0;
    for (j = 1; j < self->n_slots; ++j)
        if (self->births[j] < self->births[oldest])
            oldest = j;
    value = self->scale * (double)value_at(self, oldest);
    alpha = self->scale * self->coef[0][oldest];
    sigma = fabs(alpha);
    mu = alpha > 0.0 ? value : -value;
    phi = shrinking(sigma, mu, 15.0 / 32.0 * (double)(self->n_updates + 1) - self->spoiled);
    self->spoiled += phi * sigma * (phi * sigma) + 2.0 * phi * sigma * (1.0 - phi * mu);
    self->scale *= phi;
    lost = self->sizes[oldest];
    free_slot(self, oldest);
    self->n_maintenance += 1;
    return lost;
}
