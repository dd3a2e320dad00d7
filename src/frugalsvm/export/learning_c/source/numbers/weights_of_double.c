/* Coefficients as scores take them: as they are. */
static double weight_of(const context *self, int o, slot j)
{
    return self->coef[o][j];
}

static void set_coefficient(context *self, int o, slot j, double value)
{
    self->coef[o][j] = value;
}
