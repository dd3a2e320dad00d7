static void pass_real(channel *state, float *value, float least, float most)
{
    uint64_t bits;
    uint32_t own;
    float number;
    memcpy(&own, value, sizeof own);
    bits = own;
    own = (uint32_t)pass_bits(state, &bits, 4);
    memcpy(&number, &own, sizeof number);
    if (!(number >= least && number <= most))
        state->is_sound = 0;
    if (state->what == READING)
        *value = number;
}
