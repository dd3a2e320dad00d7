/* Multiply the scale into the coefficients, before one of them under- or overflows. What shrinks for ever ends at
   zero, not among the subnormal numbers, which are slow. */
static void fold_scale(context *self)
{
    const double scale = self->scale, negligible = 1e-30;
    slot j;
    int o;
    for (j = 0; j < self->n_slots; ++j) {
        const double size = self->sizes[j] * scale * scale;
        for (o = 0; o < N_OUTPUTS; ++o) {
            const double value = self->coef[o][j] * scale;
            set_coefficient(self, o, j, fabs(value) >= negligible ? value : 0.0);
        }
        self->sizes[j] = size >= negligible * negligible ? size : 0.0;
    }
    self->scale = 1.0;
}
