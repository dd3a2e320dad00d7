/* Join the statistics of a block of rows, a feature's mean and variance, with those before, of which no more rows count
   than the half-life lets. A feature that is constant in the block keeps its own; one that was constant until now begins
   with those of the block. */
static void follow_feature(context *self, int f)
{
    const double n = FOLLOW_BLOCK, eps = 2.220446049250313e-16;
    const double mean = self->block_mean[f], var = self->block_squares[f] / n, rounding = n * mean * eps;
    const uint64_t is_constant = var <= n * eps * var + rounding * rounding;
    const double known = (double)self->row_blocks[f] * n, share = n / ((known < FOLLOW_CLOCK ? known : FOLLOW_CLOCK) + n);
    const double step = mean - self->row_center[f], before = self->row_scale[f];
    if (self->row_constant[f] && (!is_constant || step < 0.0 || step > 0.0)) {
        self->row_center[f] = mean;
        self->row_scale[f] = is_constant ? 1.0 : sqrt(var);
        self->row_limit[f] = FOLLOW_CLIP * self->row_scale[f];
        self->row_blocks[f] = 1;
    } else if (self->row_constant[f] || !is_constant) {
        if (!is_constant)
            self->row_scale[f] = sqrt((1.0 - share) * (before * before) + share * var + share * (1.0 - share) * (step * step));
        self->row_center[f] += share * step;
        self->row_limit[f] = self->row_limit[f] / before * self->row_scale[f];
        self->row_blocks[f] += 1;
    }
    self->row_constant[f] = self->row_constant[f] && is_constant;
    self->block_mean[f] = self->block_squares[f] = 0.0;
}

/* Take a row that was learned into the statistics of its block (Welford 1962). */
static void follow_row(context *self, const real *x)
{
    int f;
    self->n_block_rows += 1;
    for (f = 0; f < N_FEATURES; ++f) {
        real value = x[f];
        double distance;
@filling@
        distance = (double)value - self->block_mean[f];
        self->block_mean[f] += distance / (double)self->n_block_rows;
        self->block_squares[f] += distance * ((double)value - self->block_mean[f]);
        if (self->n_block_rows == FOLLOW_BLOCK)
            follow_feature(self, f);
    }
    self->n_block_rows %= FOLLOW_BLOCK;
}
