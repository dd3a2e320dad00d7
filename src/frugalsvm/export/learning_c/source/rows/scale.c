/* The value of a feature in units of its scale. */
static real scaled(real value, int f)
{
    return (real)(((double)value - row_center[f]) / row_scale[f]);
}
