/* Scores of the row at hand, without the scale; its kernel values are left in kernel_row. Returns its squared norm. */
static real score_row(context *self)
{
    const real norm = row_norm(self->row);
    slot j;
    int o;
    for (j = 0; j < self->n_slots; ++j)
        self->kernel_row[j] = kernel_value(example_pair(self->row, self->rows[j]), self->norms[j], norm);
    for (o = 0; o < N_OUTPUTS; ++o) {
        real total = 0;
        for (j = 0; j < self->n_slots; ++j)
            total += weight_of(self, o, j) * self->kernel_row[j];
        self->scores[o] = (double)total;
    }
    return norm;
}

/* Write the row to a new last slot, and let the policy make room if that is one too many. */
static void add_row(context *self, const step_sizes *step, double factor)
{
    const slot n = self->n_slots;
    double lost;
    int o;
@settle@
    memcpy(self->rows[n], self->row, sizeof self->row);
    self->norms[n] = step->norm;
    for (o = 0; o < N_OUTPUTS; ++o)
        set_coefficient(self, o, n, factor * self->direction[o]);
    self->births[n] = self->n_seen;
    refresh_slot(self, n);
    self->n_slots = n + 1;
    lost = admit(self);
    if (lost >= 0.0) { /* otherwise it was turned away */
        self->n_updates += 1;
        self->error_sum += self->scale * sqrt(lost) / step->eta;
    }
}

/* One example of budgeted stochastic gradient descent (Wang, Crammer & Vucetic 2012, Algorithm 1): the row at hand,
   which has this squared norm and was scored. */
static void learn_row(context *self, real norm, @target@ *wanted, double weight)
{
    step_sizes step;
    double factor;
    step.norm = norm;
    self->n_kernel_values += self->n_slots;
    self->n_seen += 1;
    step.before = self->scale;
    step.weight = weight;
    advance(self, &step);
    factor = update_of(self, wanted, &step);
    if (factor > 0.0)
        add_row(self, &step, factor);
    keep_scale(self);
}
