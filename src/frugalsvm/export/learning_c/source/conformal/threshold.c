static double next_threshold(const context *self)
{
    const uint32_t n = n_ranked(self);
    const double due = self->misses_due / CONFORMAL_PATIENCE;
    double level = CONFORMAL_RATE * (due < 0.0 ? 1.0 + due : exp(due));
    uint32_t n_above;
    level = level > 0.0 ? level : 0.0;
    level = level < 1.0 ? level : 1.0;
    n_above = (uint32_t)(level * (double)(n + 1) + 1e-9);
    if (n_above > n)
        return -ENDLESS;
    return n_above > 0 ? self->ranked[n - n_above] : beyond_all(self, n);
}

/* Take the score of a row before it was learned; one that is not a number is beyond all others. */
static void take_score(context *self, double score)
{
    self->n_judged += 1;
    if (!(score < ENDLESS)) {
        self->n_missed += 1;
        return;
    }
    score = score > -0.1 * ENDLESS ? score : -0.1 * ENDLESS;
    self->n_missed += score > self->threshold_of_scores;
    self->misses_due += CONFORMAL_RATE - (score > self->threshold_of_scores ? 1.0 : 0.0);
    insert_score(self, score);
    self->threshold_of_scores = next_threshold(self);
}
