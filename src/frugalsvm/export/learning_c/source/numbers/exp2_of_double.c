/* 2^t for t <= 0 is 2^n 2^f with t = n + f, n an integer and |f| <= 1/2: n is found by adding and subtracting
   1.5 * 2^52, and 2^f is a polynomial. Returns 2^f - 1, and n where a double has its exponent. */
static double parts_of_exp2(double t, uint64_t *exponent)
{
    const double to_integer = 6755399441055744.0, lowest = -500.0;
    double rounded, f, high;
    t = t > lowest ? t : lowest;
    rounded = t + to_integer;
    f = t - (rounded - to_integer);
    high = 0.00015403530457136989581
           + f * (1.5252733492744019444e-05
                  + f * (1.3215435271411859462e-06
                         + f * (1.0178199713847758454e-07
                                + f * (7.0737849281356822733e-09 + f * 4.4347518975578216414e-10))));
    memcpy(exponent, &rounded, sizeof *exponent);
    *exponent <<= 52;
    return f
           * (0.69314718055994532584
              + f * (0.24022650695910131332
                     + f * (0.055504108664820080896
                            + f * (0.0096181291075940968564 + f * (0.0013333558146775082534 + f * high)))));
}

/* A double times the power of two. */
static double times_power(double value, uint64_t exponent)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits += exponent;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* 2^t for t <= 0, relative error below 1e-15. */
static double exp2_nonpositive(double t)
{
    uint64_t exponent;
    const double change = parts_of_exp2(t, &exponent);
    return times_power(1.0 + change, exponent);
}
