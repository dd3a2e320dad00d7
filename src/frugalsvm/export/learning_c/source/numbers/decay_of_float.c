/* 2^t for t <= 0, relative error below 2e-7, and exactly 0 from 2^-100 on. With t = n + f, n an integer and
   |f| <= 1/2, it is 2^n 2^f: n is found by adding and subtracting 1.5 * 2^23, 2^f is a polynomial, and the product is
   an addition to the exponent bits. */
static float decay(float t)
{
    const float to_integer = 12582912.0f;
    float rounded, f, p;
    uint32_t bits, exponent;
    if (!(t > -100.0f))
        return 0.0f;
    rounded = t + to_integer;
    f = t - (rounded - to_integer);
    p = 1.0f
        + f * (0.69314697755563557f
               + f * (0.24022242057325384f
                      + f * (0.055507338057315511f + f * (0.0096715139260062139f + f * 0.0013264708407109093f))));
    memcpy(&exponent, &rounded, sizeof exponent);
    memcpy(&bits, &p, sizeof bits);
    bits += exponent << 23;
    memcpy(&p, &bits, sizeof p);
    return p;
}
