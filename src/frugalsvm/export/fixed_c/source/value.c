int64_t name_predict(const int16_t *row)
{
    int64_t scores[NAME_N_OUTPUTS];
    name_decision(row, scores);
    return scores[0];
}
