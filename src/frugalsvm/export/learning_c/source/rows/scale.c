/* The value of a feature in units of its scale. */
static real scaled(const context *self, real value, int f)
{
    (void)self;
    return (real)(((double)value - row_center[f]) / row_scale[f]);
}
