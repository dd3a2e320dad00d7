/* 2^t for t <= 0, and exactly 0 from 2^-100 on. */
static double decay(double t)
{
    return t > -100.0 ? exp2_nonpositive(t) : 0.0;
}
