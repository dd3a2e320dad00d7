/* Judge the row that was scored, before it is learned; the first one comes to a model that knows nothing. */
static void judge_row(context *self)
{
    double value;
    if (self->n_seen == 0)
        return;
    decision_values(self, &value);
    take_score(self, -value);
}

/* Below this score rows are alarms. */
static double offset_of(const context *self)
{
    return -self->threshold_of_scores;
}
