int name_predict(const int16_t *row)
{
    int64_t scores[NAME_N_OUTPUTS];
    int best = 0, o;
    name_decision(row, scores);
    for (o = 1; o < NAME_N_OUTPUTS; ++o)
        if (scores[o] > scores[best])
            best = o;
    return best;
}
