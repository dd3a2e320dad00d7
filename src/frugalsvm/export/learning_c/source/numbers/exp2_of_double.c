/* 2^t for t <= 0, relative error below 1e-15. With t = n + f, n an integer and |f| <= 1/2, it is 2^n 2^f: n is found by
   adding and subtracting 1.5 * 2^52, 2^f is a polynomial, and the product is an addition to the exponent bits. */
static double exp2_nonpositive(double t)
{
    const double to_integer = 6755399441055744.0, lowest = -500.0;
    double rounded, f, high, p;
    uint64_t bits, exponent;
    t = t > lowest ? t : lowest;
    rounded = t + to_integer;
    f = t - (rounded - to_integer);
    high = 0.00015403530457136989581
           + f * (1.5252733492744019444e-05
                  + f * (1.3215435271411859462e-06
                         + f * (1.0178199713847758454e-07
                                + f * (7.0737849281356822733e-09 + f * 4.4347518975578216414e-10))));
    p = 1.0
        + f * (0.69314718055994532584
               + f * (0.24022650695910131332
                      + f * (0.055504108664820080896
                             + f * (0.0096181291075940968564 + f * (0.0013333558146775082534 + f * high)))));
    memcpy(&exponent, &rounded, sizeof exponent);
    memcpy(&bits, &p, sizeof bits);
    bits += exponent << 52;
    memcpy(&p, &bits, sizeof p);
    return p;
}
