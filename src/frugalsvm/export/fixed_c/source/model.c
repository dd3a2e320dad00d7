/* 2^-e from 16 bits behind the point of e, with 30 bits behind the point: a table of the first 64th parts of a power of
   two, and straight lines between them. */
static uint32_t power(uint64_t e)
{
    const uint32_t part = (uint32_t)(e & 0xFFFF), k = part >> 10, rest = part >> 2 & 0xFF;
    const uint32_t value = powers[k] - ((powers[k] - powers[k + 1]) * rest >> 8);
    return value >> (e >> 16);
}

/* exp(-gamma ||x - v||^2), with 30 bits behind the point. */
static uint32_t kernel(const int16_t *row, const vector_number *vector)
{
    uint64_t sum = 0;
    int f;
    for (f = 0; f < NAME_N_FEATURES; ++f) {
        const int32_t difference = (int32_t)row[f] - vector[f];
        const uint32_t size = (uint32_t)(difference < 0 ? -difference : difference);
        sum += (uint64_t)size * size;
    }
    return sum < FAR ? power(sum * STEEPNESS >> STEEPNESS_SHIFT) : 0;
}

void name_decision(const int16_t *row, int64_t *scores)
{
    int j, o;
    for (o = 0; o < NAME_N_OUTPUTS; ++o)
        scores[o] = intercepts[o];
    for (j = 0; j < N_VECTORS; ++j) {
        const int64_t value = kernel(row, vectors[j]);
        for (o = 0; o < NAME_N_OUTPUTS; ++o)
            scores[o] += value * coefficients[j][o];
    }
}

int name_quantize(const float *x, int16_t *row)
{
    int f;
    for (f = 0; f < NAME_N_FEATURES; ++f) {
        float value = x[f];
@filling@
        if (!(value >= -FLT_MAX && value <= FLT_MAX))
            return 1;
        value = (value - row_offset[f]) * row_steps[f];
        value = value > (float)row_least[f] ? value : (float)row_least[f];
        value = value < (float)row_most[f] ? value : (float)row_most[f];
        row[f] = (int16_t)(value < 0 ? value - 0.5f : value + 0.5f);
    }
    return 0;
}
