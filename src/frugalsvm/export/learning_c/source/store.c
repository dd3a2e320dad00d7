/* Bring what is derived from the coefficients of a slot up to date. */
static void refresh_slot(context *self, slot j)
{
    double total = 0.0;
    int o;
    for (o = 0; o < N_OUTPUTS; ++o)
        total += self->coef[o][j] * self->coef[o][j];
    self->sizes[j] = total * self_value(self->norms[j]);
}

/* Empty a slot; the last slot moves into the gap. */
static void free_slot(context *self, slot dropped)
{
    const slot last = self->n_slots - 1;
    int o;
    if (dropped != last) {
        memcpy(self->rows[dropped], self->rows[last], sizeof self->rows[last]);
        self->norms[dropped] = self->norms[last];
        self->sizes[dropped] = self->sizes[last];
        self->births[dropped] = self->births[last];
        for (o = 0; o < N_OUTPUTS; ++o)
            set_coefficient(self, o, dropped, self->coef[o][last]);
    }
    self->n_slots = last;
}
