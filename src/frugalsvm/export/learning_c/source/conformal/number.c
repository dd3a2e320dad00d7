/* The prediction for the row that was scored, twice, or two quantiles in order. */
static void bounds_of(const context *self, double *low, double *high)
{
    double values[NAME_N_OUTPUTS], other;
    predictions(self, values);
    *low = values[0];
    *high = values[NAME_N_OUTPUTS - 1];
    if (*high < *low) {
        other = *low;
        *low = *high;
        *high = other;
    }
}

/* Judge the row that was scored, before it is learned; the first one comes to a model that knows nothing. */
static void judge_row(context *self, double wanted)
{
    double low, high;
    if (self->n_seen == 0)
        return;
    bounds_of(self, &low, &high);
    take_score(self, low - wanted > wanted - high ? low - wanted : wanted - high);
}

int name_predict_interval(name_context *self, const name_real *x, double *low, double *high)
{
    double far, half;
    if (take_row(self, x) != NAME_OK)
        return NAME_BAD_ROW;
    score_row(self);
    bounds_of(self, low, high);
    far = open_threshold(self);
    half = 0.5 * (*low - *high); /* bounds that would cross meet in the middle */
    far = far > half ? far : half;
    *low -= far;
    *high += far;
    return NAME_OK;
}
