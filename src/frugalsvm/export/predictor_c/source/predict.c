@predicted@ name_predict(@row@)
{
    real scores[NAME_N_SCORES];
@value?    name_decision(@passed@, scores);
@value?    return scores[0];
@largest?    int best = 0, i;
@!value?    if (name_decision(@passed@, scores))
@!value?        return NAME_NO_CLASS;
@largest?    for (i = 1; i < NAME_N_SCORES; ++i) {
@largest?        if (scores[i] > scores[best])
@largest?            best = i;
@largest?    }
@largest?    return best;
@inlier?    return scores[0] >= 0 ? 1 : -1;
@sign?    return scores[0] >= 0;
}
