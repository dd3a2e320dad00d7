int name_learn(name_context *self, const name_real *x, int label)
{
    real norm;
    if (label < 0 || label >= NAME_N_CLASSES)
        return NAME_BAD_TARGET;
    if (take_row(self, x) != NAME_OK)
        return NAME_BAD_ROW;
    norm = score_row(self);
@judge@
@learn@
@follow@
    return NAME_OK;
}

int name_scores(name_context *self, const name_real *x, double *scores)
{
    if (take_row(self, x) != NAME_OK)
        return NAME_BAD_ROW;
    score_row(self);
    decision_values(self, scores);
    return NAME_OK;
}

int name_predict(name_context *self, const name_real *x)
{
    double scores[NAME_N_SCORES];
    int best = 0, o;
    if (name_scores(self, x, scores) != NAME_OK)
        return NAME_NO_CLASS;
    if (NAME_N_SCORES == 1)
        return scores[0] >= 0.0;
    for (o = 1; o < NAME_N_SCORES; ++o)
        if (scores[o] > scores[best])
            best = o;
    return best;
}
