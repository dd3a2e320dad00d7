/* The latest scores, in a ring. After every WINDOW_INTERVAL rows two quantiles of them are taken: the threshold below
   which rows are learned, and the offset below which they are alarms, whose level makes up for alarms that were too
   many, or too few. */
enum { WINDOW_INTERVAL = 256 };

/* Until the first look every row is learned. */
static double threshold_of(const context *self)
{
    return self->n_looks > 0 ? self->threshold : 1e300;
}

static uint32_t n_known(const context *self)
{
    return self->n_scores < NAME_WINDOW ? (uint32_t)self->n_scores : NAME_WINDOW;
}

/* An integer that is larger for larger numbers. */
static uint64_t ordered(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

/* The value of a rank, from 0, by bisection of the numbers that there are: neither a copy nor an order is needed. */
static double ranked(const context *self, uint32_t rank)
{
    const uint32_t n = n_known(self);
    uint64_t low = 0, high = UINT64_MAX;
    double found = 0.0;
    uint32_t j;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        uint32_t n_below = 0;
        for (j = 0; j < n; ++j)
            n_below += ordered(self->window[j]) <= middle;
        if (n_below > rank)
            high = middle;
        else
            low = middle + 1;
    }
    for (j = 0; j < n; ++j)
        if (ordered(self->window[j]) == low)
            found = self->window[j];
    return found;
}

/* The quantile between two ranks, as NumPy has it. */
static double quantile(const context *self, double share)
{
    const uint32_t last = n_known(self) - 1;
    const double place = share * (double)last;
    const uint32_t below = (uint32_t)place;
    const double part = place - (double)below, low = ranked(self, below);
    const double high = below < last ? ranked(self, below + 1) : low, rest = high - low;
    return part >= 0.5 ? high - rest * (1.0 - part) : low + rest * part;
}

/* Take in the score of a row before it was learned, and look at the window when that is due. */
static void note_score(context *self, double score)
{
    double level;
    if (self->n_looks > 0)
        self->due += WINDOW_RATE - (score < self->offset ? 1.0 : 0.0);
    self->window[self->n_scores % NAME_WINDOW] = score;
    self->n_scores += 1;
    if (self->n_scores % WINDOW_INTERVAL != 0)
        return;
    level = WINDOW_RATE * (1.0 + self->due / 25.0);
    level = level > WINDOW_RATE / 5.0 ? level : WINDOW_RATE / 5.0;
    level = level < WINDOW_RATE * 5.0 ? level : WINDOW_RATE * 5.0;
    level = level < 1.0 ? level : 1.0;
    self->threshold = quantile(self, WINDOW_NU);
    self->offset = quantile(self, level);
    self->n_looks += 1;
}
