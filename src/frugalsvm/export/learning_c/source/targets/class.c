int name_learn(name_context *self, const name_real *x, int label)
{
    if (label < 0 || label >= NAME_N_CLASSES)
        return NAME_BAD_TARGET;
    if (take_row(self, x) != NAME_OK)
        return NAME_BAD_ROW;
@learn@
    return NAME_OK;
}

int name_scores(name_context *self, const name_real *x, double *scores)
{
    int o;
    if (take_row(self, x) != NAME_OK)
        return NAME_BAD_ROW;
    score_row(self, row_norm(self->row));
    for (o = 0; o < N_OUTPUTS; ++o)
        scores[o] = self->scale * self->scores[o];
    return NAME_OK;
}

int name_predict(name_context *self, const name_real *x)
{
    int best = 0, o;
    if (take_row(self, x) != NAME_OK)
        return NAME_NO_CLASS;
    score_row(self, row_norm(self->row));
    if (N_OUTPUTS == 1)
        return self->scores[0] >= 0.0;
    for (o = 1; o < N_OUTPUTS; ++o)
        if (self->scores[o] > self->scores[best])
            best = o;
    return best;
}
