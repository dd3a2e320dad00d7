static void pass_real(channel *state, double *value, double least, double most)
{
    pass_double(state, value, least, most);
}
