static int name_row(@row@, real *@out@)
{
@directions?    real row[N_INPUTS];
    int j;
    for (j = 0; j < N_NUMBERS; ++j) {
@filling?        row[j] = x[j] != x[j] ? name_filling[j] : x[j];
@!filling?        row[j] = x[j];
        if (!isfinite(row[j]))
            return 1;
    }
@indicated?    for (j = 0; j < N_INDICATED; ++j)
@indicated?        row[N_NUMBERS + j] = x[name_indicated[j]] != x[name_indicated[j]] ? @one@ : @zero@;
@encoded@
@scaling?    for (j = 0; j < N_INPUTS; ++j) {
@scaling?        real value = row[j];
@bounds?        const real clipped = value > name_most[j] ? name_most[j] : value < name_least[j] ? name_least[j] : value;
@room?        const real more = name_room[j] - name_room[j] / (@one@ + fabs@f@(value - clipped) / name_room[j]);
@room?        value = value < clipped ? clipped - more : clipped + more;
@hard?        value = clipped;
@scaling?        row[j] = @scaled@;
@scaling?    }
@directions?    for (j = 0; j < N_FEATURES; ++j) {
@directions?        int k;
@directions?        seen[j] = 0;
@directions?        for (k = 0; k < N_INPUTS; ++k)
@directions?            seen[j] += name_directions[j][k] * row[k];
@directions?    }
    return 0;
}
