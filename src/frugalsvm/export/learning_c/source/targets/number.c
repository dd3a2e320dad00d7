int name_learn(name_context *self, const name_real *x, const double *targets)
{
    int o;
    for (o = 0; o < N_OUTPUTS; ++o) {
        const double value = targets[NAME_N_TARGETS == 1 ? 0 : o];
        if (!(fabs(value) <= 1e24))
            return NAME_BAD_TARGET;
        self->targets[o] = (value - target_center[o]) / target_spread[o];
    }
    if (take_row(self, x) != NAME_OK)
        return NAME_BAD_ROW;
    learn_row(self, self->targets, 1.0);
    return NAME_OK;
}

int name_scores(name_context *self, const name_real *x, double *scores)
{
    int o;
    if (take_row(self, x) != NAME_OK)
        return NAME_BAD_ROW;
    score_row(self, row_norm(self->row));
    for (o = 0; o < N_OUTPUTS; ++o)
        scores[o] = self->scale * self->scores[o] * target_spread[o] + target_center[o];
@sort@
    return NAME_OK;
}

double name_predict(name_context *self, const name_real *x)
{
    double scores[NAME_N_OUTPUTS];
    return name_scores(self, x, scores) == NAME_OK ? scores[0] : (double)NAN;
}
