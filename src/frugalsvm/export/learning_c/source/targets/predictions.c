/* The predictions for the row that was scored, in units of its targets. */
static void predictions(const context *self, double *scores)
{
    int o;
    for (o = 0; o < N_OUTPUTS; ++o)
        scores[o] = self->scale * self->scores[o] * target_spread[o] + target_center[o];
@sort@
}
