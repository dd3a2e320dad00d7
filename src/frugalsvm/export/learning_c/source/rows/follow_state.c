static void pass_following(context *self, channel *state)
{
    int f;
    pass_count(state, &self->n_block_rows, 0, FOLLOW_BLOCK - 1);
    for (f = 0; f < N_FEATURES; ++f) {
        pass_double(state, &self->row_center[f], -LARGEST_NUMBER, LARGEST_NUMBER);
        pass_double(state, &self->row_scale[f], 1e-300, LARGEST_NUMBER);
        pass_double(state, &self->row_limit[f], 1e-300, LARGEST_NUMBER);
        pass_count(state, &self->row_blocks[f], 0, LARGEST_COUNT);
        pass_count(state, &self->row_constant[f], 0, 1);
        pass_double(state, &self->block_mean[f], -LARGEST_NUMBER, LARGEST_NUMBER);
        pass_double(state, &self->block_squares[f], 0.0, LARGEST_NUMBER);
    }
}
