static void pass_policy(context *self, channel *state)
{
    /* Zero would be followed by zeros. */
    state->is_sound &= pass_bits(state, &self->random_state, 8) != 0;
}
