int name_learn(name_context *self, const name_real *x)
{
    double score;
    real norm;
    if (take_row(self, x) != NAME_OK)
        return NAME_BAD_ROW;
    norm = score_row(self);
@judge@
    /* Scores are as high as they will be when the share nu of the rows is learned. */
    learn_row(self, norm, &score, self->n_looks > 0 ? 1.0 : WINDOW_NU);
    note_score(self, score);
@follow@
    return NAME_OK;
}

int name_scores(name_context *self, const name_real *x, double *score)
{
    if (take_row(self, x) != NAME_OK)
        return NAME_BAD_ROW;
    score_row(self);
    decision_values(self, score);
    *score -= offset_of(self);
    return NAME_OK;
}

int name_predict(name_context *self, const name_real *x)
{
    double score;
    if (name_scores(self, x, &score) != NAME_OK)
        return NAME_NO_CLASS;
    return score >= 0.0 ? 1 : -1;
}
