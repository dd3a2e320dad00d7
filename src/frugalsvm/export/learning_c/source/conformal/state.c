static void pass_conformal(context *self, channel *state)
{
    const uint64_t n_taken = pass_count(state, &self->n_taken, 0, LARGEST_COUNT);
    const uint32_t n = n_taken < NAME_CONFORMAL_WINDOW ? (uint32_t)n_taken : NAME_CONFORMAL_WINDOW;
    const uint64_t n_judged = pass_count(state, &self->n_judged, 0, LARGEST_COUNT);
    uint32_t j, k;
    pass_count(state, &self->n_missed, 0, n_judged);
    pass_double(state, &self->misses_due, -LARGEST_NUMBER, LARGEST_NUMBER);
    pass_double(state, &self->threshold_of_scores, -LARGEST_NUMBER, LARGEST_NUMBER);
    for (j = 0; j < n && state->is_sound; ++j) {
        pass_double(state, &self->ring[j], -LARGEST_NUMBER, LARGEST_NUMBER);
        if (state->what != READING)
            continue;
        for (k = j; k > 0 && self->ranked[k - 1] > self->ring[j]; --k)
            self->ranked[k] = self->ranked[k - 1];
        self->ranked[k] = self->ring[j];
    }
}
