/* Write a row, as the kernel sees it, to where it is learned and scored. */
static int take_row(context *self, const real *x)
{
    int f;
    for (f = 0; f < N_FEATURES; ++f) {
        real value = x[f];
@filling@
        if (!(value >= -REAL_MAX && value <= REAL_MAX))
            return NAME_BAD_ROW;
@seen@
        if (!(value >= -ROW_LARGEST && value <= ROW_LARGEST))
            return NAME_BAD_ROW;
        self->row[f] = value;
    }
    return NAME_OK;
}
