static void pass_window(context *self, channel *state)
{
    const uint64_t n_scores = pass_count(state, &self->n_scores, 0, LARGEST_COUNT);
    const uint32_t n = n_scores < NAME_WINDOW ? (uint32_t)n_scores : NAME_WINDOW;
    uint32_t j;
    pass_count(state, &self->n_looks, 0, n_scores);
    pass_double(state, &self->threshold, -LARGEST_NUMBER, LARGEST_NUMBER);
    pass_double(state, &self->offset, -LARGEST_NUMBER, LARGEST_NUMBER);
    pass_double(state, &self->due, -LARGEST_NUMBER, LARGEST_NUMBER);
    for (j = 0; j < n; ++j)
        pass_double(state, &self->window[j], -LARGEST_NUMBER, LARGEST_NUMBER);
}
