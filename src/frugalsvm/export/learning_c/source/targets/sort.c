/* Predicted quantiles of a row, brought into the order of the quantiles that they are. */
static void sort_quantiles(double *values)
{
    int i, k;
    for (i = 1; i < N_OUTPUTS; ++i) {
        const double value = values[quantile_place[i]];
        for (k = i; k > 0 && values[quantile_place[k - 1]] > value; --k)
            values[quantile_place[k]] = values[quantile_place[k - 1]];
        values[quantile_place[k]] = value;
    }
}
