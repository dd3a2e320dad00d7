/* Coefficients as scores take them: rounded copies, so that scoring needs no double precision. */
static float weight_of(const context *self, int o, slot j)
{
    return self->weights[o][j];
}

static void set_coefficient(context *self, int o, slot j, double value)
{
    self->coef[o][j] = value;
    self->weights[o][j] = (float)value;
}
