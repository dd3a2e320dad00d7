static void pass_policy(context *self, channel *state)
{
    const uint32_t n_covered = (uint32_t)pass_count(state, &self->n_covered, 0, NAME_SLOTS);
    uint32_t i, j;
    pass_count(state, &self->n_changes, 0, LARGEST_COUNT);
    for (i = 0; i < n_covered && state->is_sound; ++i)
        for (j = 0; j < n_covered; ++j)
            pass_double(state, &self->inverse[i][j], -LARGEST_NUMBER, LARGEST_NUMBER);
}
