/* The latest scores, which say how strange rows were before they were learned, in a ring and in order. A row whose score
   is above the threshold is a miss. The threshold is a quantile of the scores, whose level follows the misses that are
   due (Gibbs & Candes 2021). */
#define ENDLESS 1e300 /* a threshold, or a score that no threshold could have been above */

static uint32_t n_ranked(const context *self)
{
    return self->n_taken < NAME_CONFORMAL_WINDOW ? (uint32_t)self->n_taken : NAME_CONFORMAL_WINDOW;
}

static uint32_t first_not_below(const double *ranked, uint32_t n, double score)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (ranked[middle] < score)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Put a score in its place, instead of the oldest one if there is no room. */
static void insert_score(context *self, double score)
{
    const uint32_t n = n_ranked(self), oldest = (uint32_t)(self->n_taken % NAME_CONFORMAL_WINDOW);
    const uint32_t gap = n < NAME_CONFORMAL_WINDOW ? n : first_not_below(self->ranked, n, self->ring[oldest]);
    uint32_t place = first_not_below(self->ranked, n, score);
    if (place <= gap) {
        memmove(self->ranked + place + 1, self->ranked + place, (gap - place) * sizeof *self->ranked);
    } else {
        place -= 1;
        memmove(self->ranked + gap, self->ranked + gap + 1, (place - gap) * sizeof *self->ranked);
    }
    self->ranked[place] = self->ring[oldest] = score;
    self->n_taken += 1;
}
