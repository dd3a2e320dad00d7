/* How strange each label of the row that was scored would be: the largest value of another label, less its own. */
static void label_scores(const context *self, double *strange)
{
    double values[NAME_N_SCORES];
    int best = 0, second = 1, o;
    decision_values(self, values);
    if (NAME_N_SCORES == 1) {
        strange[0] = values[0];
        strange[1] = -values[0];
        return;
    }
    for (o = 1; o < NAME_N_SCORES; ++o) {
        if (values[o] > values[best]) {
            second = best;
            best = o;
        } else if (values[o] > values[second]) {
            second = o;
        }
    }
    for (o = 0; o < NAME_N_SCORES; ++o)
        strange[o] = values[o == best ? second : best] - values[o];
}

/* Judge the row that was scored, before it is learned; the first one comes to a model that knows nothing. */
static void judge_row(context *self, int label)
{
    double strange[NAME_N_CLASSES];
    if (self->n_seen == 0)
        return;
    label_scores(self, strange);
    take_score(self, strange[label]);
}

int name_predict_set(name_context *self, const name_real *x, unsigned char *in_set)
{
    double strange[NAME_N_CLASSES];
    int n_labels = 0, k;
    if (take_row(self, x) != NAME_OK)
        return -1;
    score_row(self);
    label_scores(self, strange);
    for (k = 0; k < NAME_N_CLASSES; ++k) {
        in_set[k] = strange[k] <= open_threshold(self);
        n_labels += in_set[k];
    }
    return n_labels;
}
