/* The decision values of the row that was scored. */
static void decision_values(const context *self, double *values)
{
    int o;
    for (o = 0; o < N_OUTPUTS; ++o)
        values[o] = self->scale * self->scores[o];
}
