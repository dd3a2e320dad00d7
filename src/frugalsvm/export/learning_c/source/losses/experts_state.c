static void pass_experts(context *self, channel *state)
{
    const uint64_t n_votes = pass_count(state, &self->n_votes, 0, LARGEST_COUNT);
    int k;
    pass_count(state, &self->n_wrong, 0, n_votes);
    for (k = 0; k < NAME_N_EXPERTS; ++k) {
        pass_double(state, &self->share[k], 1e-300, 2.0);
        pass_double(state, &self->usual[k], 0.0, LARGEST_NUMBER);
        pass_double(state, &self->fade[k], 1e-300, 1.0);
    }
}
