typedef int target; /* the index of the class */

/* Experts: machines of several half-lives with the same support vectors. They differ in their coefficients, NAME_N_SCORES
   for each of them, which are kept in steps of their expert: expert k has the decision values
   fade sum_j coef[][j] K(rows[j], x) / (strength min(t, clock)). Those that were right of late have most of the vote. */
static double least_time(double t, int k)
{
    return t < expert_clock[k] ? t : expert_clock[k];
}

/* The decision values of all experts together: a mean of them, each relative to its usual size. */
static void decision_values(const context *self, double *values)
{
    const double t = (double)(self->n_votes > 0 ? self->n_votes : 1);
    double total = 0.0, mean = 0.0;
    int k, o;
    for (k = 0; k < NAME_N_EXPERTS; ++k) {
        total += self->share[k];
        mean += self->share[k] * self->usual[k];
    }
    for (o = 0; o < NAME_N_SCORES; ++o)
        values[o] = 0.0;
    for (k = 0; k < NAME_N_EXPERTS; ++k) {
        const double size = self->usual[k] > 1e-300 ? self->usual[k] : 1e-300;
        const double units = total * size * expert_strength[k] * least_time(t, k);
        const double part = self->share[k] * self->fade[k] * mean / units;
        for (o = 0; o < NAME_N_SCORES; ++o)
            values[o] += part * self->scores[k * NAME_N_SCORES + o];
    }
}

static double margin_of(const double *values, int label, int *rival)
{
    int i;
    *rival = label == 0 ? 1 : 0;
    if (NAME_N_SCORES == 1)
        return label == 1 ? values[0] : -values[0];
    for (i = *rival; i < NAME_N_SCORES; ++i)
        if (i != label && values[i] > values[*rival])
            *rival = i;
    return values[label] - values[*rival];
}

/* What the row adds to the coefficients of an expert whose margin it is within. */
static void push(double *direction, int label, int rival, double weight)
{
    if (NAME_N_SCORES == 1) {
        direction[0] = label == 1 ? weight : -weight;
    } else {
        direction[label] = weight;
        direction[rival] = -weight;
    }
}

/* Judge all experts by the row, and age them by it. Returns the factor of what is added: 0 if none of them learns it. */
static double update_of(context *self, const target *wanted, const step_sizes *step)
{
    double values[NAME_N_SCORES], total = 0.0, t, pace;
    int learns = 0, k, rival;
    decision_values(self, values);
    self->n_wrong += margin_of(values, *wanted, &rival) <= 0.0;
    self->n_votes += 1;
    t = (double)self->n_votes;
    pace = 1.0 / (t < 1000.0 ? t : 1000.0);
    for (k = 0; k < N_OUTPUTS; ++k)
        self->direction[k] = 0.0;
    for (k = 0; k < NAME_N_EXPERTS; ++k) {
        const double raw_margin = margin_of(self->scores + k * NAME_N_SCORES, *wanted, &rival);
        const double before = least_time(t > 2.0 ? t - 1.0 : 1.0, k);
        const double margin = self->fade[k] * raw_margin / (expert_strength[k] * before);
        if (t > expert_clock[k])
            self->fade[k] *= (expert_clock[k] - 1.0) / before;
        self->usual[k] += pace * (fabs(margin) - self->usual[k]);
        if (margin <= 0.0)
            self->share[k] *= exp(-0.3 * step->weight);
        total += self->share[k];
        if (margin < 1.0) {
            learns = 1;
            push(self->direction + k * NAME_N_SCORES, *wanted, rival, step->weight);
        }
    }
    for (k = 0; k < NAME_N_EXPERTS; ++k)
        self->share[k] = (1.0 - 0.001) * self->share[k] / total + 0.001 / NAME_N_EXPERTS;
    return learns ? 1.0 : 0.0;
}

/* Bring coefficients up to date before some are added. */
static void settle(context *self)
{
    slot j;
    int o, k;
    for (j = 0; j < self->n_slots; ++j)
        self->sizes[j] = 0.0;
    for (o = 0; o < N_OUTPUTS; ++o) {
        for (j = 0; j < self->n_slots; ++j) {
            const double value = self->coef[o][j] * self->fade[o / NAME_N_SCORES];
            set_coefficient(self, o, j, fabs(value) >= 1e-30 ? value : 0.0);
            self->sizes[j] += self->coef[o][j] * self->coef[o][j];
        }
    }
    for (k = 0; k < NAME_N_EXPERTS; ++k)
        self->fade[k] = 1.0;
    for (j = 0; j < self->n_slots; ++j) {
        const double size = self->sizes[j] * self_value(self->norms[j]);
        self->sizes[j] = size > 1e-60 ? size : 1e-60; /* they are divided by it */
    }
}
