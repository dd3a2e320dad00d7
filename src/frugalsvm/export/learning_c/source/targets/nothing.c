/* Below this score rows are outliers. */
static double offset_of(const context *self)
{
    return self->n_looks > 0 ? self->offset : self->n_scores > 0 ? quantile(self, WINDOW_RATE) : 0.0;
}

int name_learn(name_context *self, const name_real *x)
{
    double score;
    if (take_row(self, x) != NAME_OK)
        return NAME_BAD_ROW;
    /* Scores are as high as they will be when the share nu of the rows is learned. */
    learn_row(self, &score, self->n_looks > 0 ? 1.0 : WINDOW_NU);
    note_score(self, score);
    return NAME_OK;
}

int name_scores(name_context *self, const name_real *x, double *score)
{
    if (take_row(self, x) != NAME_OK)
        return NAME_BAD_ROW;
    score_row(self, row_norm(self->row));
    *score = self->scale * self->scores[0] - offset_of(self);
    return NAME_OK;
}

int name_predict(name_context *self, const name_real *x)
{
    double score;
    if (name_scores(self, x, &score) != NAME_OK)
        return NAME_NO_CLASS;
    return score >= 0.0 ? 1 : -1;
}
