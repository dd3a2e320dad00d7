/* The inverse of the kernel matrix of the slots, which grows and shrinks by one row. With k the kernel values of a
   vector with the others, solved = inverse k are the coefficients of its projection on them, and K(x, x) - k' solved
   is its squared distance to their span. */

/* Squared distance of a newcomer to the span of the slots before it; solved is its projection. */
static double distance_to_span(context *self, slot newcomer, double *self_kernel)
{
    double distance;
    slot i, j;
    for (j = 0; j < newcomer; ++j)
        self->column[j] = exact_kernel(self->rows[newcomer], self->rows[j]);
    for (i = 0; i < newcomer; ++i) {
        double total = 0.0;
        for (j = 0; j < newcomer; ++j)
            total += self->inverse[i][j] * self->column[j];
        self->solved[i] = total;
    }
    distance = *self_kernel = exact_kernel(self->rows[newcomer], self->rows[newcomer]);
    for (j = 0; j < newcomer; ++j)
        distance -= self->column[j] * self->solved[j];
    return distance;
}

static void grow_inverse(context *self, slot n, double pivot)
{
    slot i, j;
    for (i = 0; i < n; ++i) {
        const double factor = self->solved[i] / pivot;
        for (j = 0; j < n; ++j)
            self->inverse[i][j] += factor * self->solved[j];
        self->inverse[i][n] = -factor;
        self->inverse[n][i] = -factor;
    }
    self->inverse[n][n] = 1.0 / pivot;
}

/* Squared distance of the newcomer, 0 if it is below a share of its squared norm. The inverse is computed afresh first
   if it is not that of the slots before it, or has changed too often. */
static double newcomer_distance(context *self, uint64_t most_changes, double in_span)
{
    const slot newcomer = self->n_slots - 1;
    double distance, self_kernel;
    slot k;
    if (self->n_covered != newcomer || self->n_changes > most_changes) {
        for (k = 0; k < newcomer; ++k) {
            distance = distance_to_span(self, k, &self_kernel);
            grow_inverse(self, k, distance);
        }
        self->n_covered = newcomer;
        self->n_changes = 0;
    }
    distance = distance_to_span(self, newcomer, &self_kernel);
    self->n_kernel_values += newcomer;
    return distance > in_span * self_kernel ? distance : 0.0;
}

/* Take the newcomer into the span. */
static void widen_span(context *self, slot newcomer, double distance)
{
    grow_inverse(self, newcomer, distance);
    self->n_covered = newcomer + 1;
    self->n_changes += 1;
}

/* Give the coefficients of a slot to the others, as its projection has them, and free it. Returns the squared norm of
   what is lost. */
static double replace_by_projection(context *self, slot dropped, double distance)
{
    double size = 0.0;
    slot j;
    int o;
    for (j = 0; j < self->n_slots; ++j) {
        if (j == dropped)
            continue;
        for (o = 0; o < N_OUTPUTS; ++o)
            set_coefficient(self, o, j, self->coef[o][j] + self->solved[j] * self->coef[o][dropped]);
        refresh_slot(self, j);
    }
    for (o = 0; o < N_OUTPUTS; ++o)
        size += self->coef[o][dropped] * self->coef[o][dropped];
    free_slot(self, dropped);
    self->n_maintenance += 1;
    return size * (distance > 0.0 ? distance : 0.0);
}
