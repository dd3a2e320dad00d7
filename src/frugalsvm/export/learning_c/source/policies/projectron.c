/* Projectron and Projectron++ (Orabona, Keshet & Caputo 2009): newcomers that are near the span of the support vectors
   are projected on it, and all of them when the model is full. */

/* tau of Projectron++; 0 when a step may do harm. */
static double margin_error_step(double loss, double distance, double projected_norm, int is_full)
{
    double spoiled = 0.0, step;
    if (projected_norm <= 0.0)
        return 0.0;
    if (distance > 0.0) {
        if (PROJECTRON_THRESHOLD > 0.0)
            spoiled = distance / PROJECTRON_THRESHOLD;
        else if (PROJECTRON_THRESHOLD >= 0.0 || !is_full) /* infinite */
            return 0.0;
    }
    step = 2.0 * (loss - spoiled);
    step = (step < loss ? step : loss) / projected_norm;
    return step < 1.0 ? step : 1.0;
}

/* Learn a margin error inside the span. Returns 1; or 0 if that may do harm: then it is turned away. */
static int take_margin_error(context *self, double margin, double distance, int is_full)
{
    const slot newcomer = self->n_slots - 1;
    double norm = 0.0, tau;
    slot j;
    int o;
    for (j = 0; j < newcomer; ++j)
        norm += self->column[j] * self->solved[j];
    tau = margin_error_step(1.0 - margin, distance, norm * (N_OUTPUTS == 1 ? 1.0 : 2.0), is_full);
    if (tau <= 0.0) {
        free_slot(self, newcomer);
        return 0;
    }
    for (o = 0; o < N_OUTPUTS; ++o)
        set_coefficient(self, o, newcomer, self->coef[o][newcomer] * tau);
    refresh_slot(self, newcomer);
    return 1;
}

/* Returns the squared norm of what is lost, or -1 if the newcomer was turned away. */
static double admit(context *self)
{
    const slot newcomer = self->n_slots - 1;
    const int is_full = newcomer >= NAME_BUDGET;
    double squared = newcomer_distance(self, LARGEST_COUNT, 1e-6), distance, margin = 0.0;
    int o;
    if (squared <= PROJECTRON_TOLERANCE * self_value(self->norms[newcomer]))
        squared = 0.0;
    distance = sqrt(squared);
    for (o = 0; o < N_OUTPUTS; ++o)
        margin += self->direction[o] * self->scores[o];
    margin *= self->scale;
    if (PROJECTRON_ON_MARGIN_ERRORS && margin > 0.0) {
        if (!take_margin_error(self, margin, distance, is_full))
            return -1.0;
    } else if (squared > 0.0 && !is_full && (newcomer == 0 || distance > PROJECTRON_THRESHOLD)) {
        widen_span(self, newcomer, squared);
        return 0.0;
    }
    return replace_by_projection(self, newcomer, squared);
}
