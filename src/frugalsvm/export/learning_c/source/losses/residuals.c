typedef double target; /* in units of the model, one for each output */

static double within(double value, double low, double high)
{
    value = value > low ? value : low;
    return value < high ? value : high;
}

/* What the row adds to the model: the direction, and the factor that is returned; 0: nothing. Steps are implicit: they
   never go beyond the target, however long they are. */
static double update_of(context *self, const target *wanted, const step_sizes *step)
{
    const double e = step->weight * step->raw * self->scale, own = self_value(step->norm);
    int learns = 0, o;
    for (o = 0; o < N_OUTPUTS; ++o) {
        const double residual = wanted[o] - self->scale * self->scores[o];
        const double dead = residual - within(residual, -loss_epsilon[o], loss_epsilon[o]);
        const double steep = e * loss_gain[o];
        self->direction[o] = within(steep * dead / (1.0 + steep * own), e * loss_low[o], e * loss_high[o]);
        learns = learns || fabs(self->direction[o]) > 1e-12;
    }
    return learns ? 1.0 / self->scale : 0.0;
}
