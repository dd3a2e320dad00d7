/* The value of a feature, within its limit, in units of its scale. */
static real scaled(const context *self, real value, int f)
{
    double distance = (double)value - row_center[f];
    (void)self;
    distance = distance > -row_limit[f] ? distance : -row_limit[f];
    distance = distance < row_limit[f] ? distance : row_limit[f];
    return (real)(distance / row_scale[f]);
}
