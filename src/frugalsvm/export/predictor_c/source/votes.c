static void name_votes(const real *values, real *scores)
{
    real sums[NAME_N_CLASSES];
    int i, j;
    for (i = 0; i < NAME_N_CLASSES; ++i)
        scores[i] = sums[i] = 0;
    for (i = 0; i < NAME_N_CLASSES; ++i) {
        for (j = i + 1; j < NAME_N_CLASSES; ++j, ++values) {
            scores[*values < 0 ? i : j] += @one@;
            sums[i] -= *values;
            sums[j] += *values;
        }
    }
    for (i = 0; i < NAME_N_CLASSES; ++i)
        scores[i] += sums[i] / (@three@ * (fabs@f@(sums[i]) + @one@));
}
