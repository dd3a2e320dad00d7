/* Relative to the origin of the model, so that differences of large values keep their digits. */
static real relative(real value, int f)
{
    return (real)((double)value - row_origin[f]);
}
