int name_learn(name_context *self, const name_real *x, const double *targets)
{
    real norm;
    int o;
    for (o = 0; o < N_OUTPUTS; ++o) {
        const double value = targets[NAME_N_TARGETS == 1 ? 0 : o];
        if (!(fabs(value) <= 1e24))
            return NAME_BAD_TARGET;
        self->targets[o] = (value - target_center[o]) / target_spread[o];
    }
    if (take_row(self, x) != NAME_OK)
        return NAME_BAD_ROW;
    norm = score_row(self);
@judge@
    learn_row(self, norm, self->targets, 1.0);
@follow@
    return NAME_OK;
}

int name_scores(name_context *self, const name_real *x, double *scores)
{
    if (take_row(self, x) != NAME_OK)
        return NAME_BAD_ROW;
    score_row(self);
    predictions(self, scores);
    return NAME_OK;
}

double name_predict(name_context *self, const name_real *x)
{
    double scores[NAME_N_OUTPUTS];
    return name_scores(self, x, scores) == NAME_OK ? @predicted@ : (double)NAN;
}
