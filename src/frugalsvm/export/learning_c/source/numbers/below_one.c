/* 1 - 2^t for t <= 0, relative error below 1e-15, however near to one 2^t is. */
static double below_one(double t)
{
    uint64_t exponent;
    const double change = parts_of_exp2(t, &exponent), power = times_power(1.0, exponent);
    return (1.0 - power) - power * change;
}
