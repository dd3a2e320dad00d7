static void pass_policy(context *self, channel *state)
{
    pass_double(state, &self->spoiled, -LARGEST_NUMBER, LARGEST_NUMBER);
}
