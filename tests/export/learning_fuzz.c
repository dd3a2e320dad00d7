/* Hostile rows, labels and states for a learner, which is compiled into this file. `fuzz N SEED` makes N calls; it ends
   with 0 unless a call returned what it must not, or a refused one changed the state. */
#include FUZZED

#include <stdio.h>
#include <stdlib.h>

static uint64_t random_word = 1;

static uint32_t below(uint32_t n)
{
    random_word ^= random_word << 13;
    random_word ^= random_word >> 7;
    random_word ^= random_word << 17;
    return (uint32_t)((random_word >> 32) * n >> 32);
}

static double hostile(void)
{
    static const double values[] = {0.0, -0.0, 1e-320, 1e-45, 1e10, -1e10, 1e18, 1e19, 1e30, -1e38, 1e60, 1e150, 1e160, 1e308};
    const uint32_t which = below(40);
    if (which == 0)
        return (double)NAN;
    if (which == 1)
        return (double)INFINITY;
    if (which == 2)
        return -(double)INFINITY;
    if (which < 10)
        return values[below(sizeof values / sizeof values[0])];
    return ((double)below(2000001) - 1e6) / 1e6 * 3.0;
}

static name_real as_real(double value)
{
    return value > REAL_MAX ? (name_real)INFINITY : value < -REAL_MAX ? -(name_real)INFINITY : (name_real)value;
}

static int learn_something(name_context *self, const name_real *x)
{
#if defined(NAME_N_CLASSES)
    return name_learn(self, x, (int)below(NAME_N_CLASSES + 2) - 1);
#elif defined(NAME_N_TARGETS)
    double targets[NAME_N_TARGETS];
    int k;
    for (k = 0; k < NAME_N_TARGETS; ++k)
        targets[k] = hostile();
    return name_learn(self, x, targets);
#else
    return name_learn(self, x);
#endif
}

/* What a conformal model promises of a row. */
static int promise(name_context *self, const name_real *x)
{
#if defined(NAME_CONFORMAL_WINDOW) && defined(NAME_N_CLASSES)
    unsigned char in_set[NAME_N_CLASSES];
    return name_predict_set(self, x, in_set) > NAME_N_CLASSES;
#elif defined(NAME_CONFORMAL_WINDOW) && defined(NAME_N_TARGETS)
    double low, high;
    /* Bounds that would cross meet in the middle, up to rounding. */
    return name_predict_interval(self, x, &low, &high) == NAME_OK && low - high > 1e-9 * (fabs(low) + fabs(high));
#else
    (void)self;
    (void)x;
    return 0;
#endif
}

/* A state with changed bytes, most often with a checksum that matches. */
static uint32_t mutate(unsigned char *bytes, uint32_t n_bytes)
{
    uint32_t n = below(4) == 0 ? below(n_bytes + 1) : n_bytes, n_changes = 1 + below(8), sum, k;
    for (k = 0; k < n_changes && n > 0; ++k)
        bytes[below(2) ? below(n) : below(n < 128 ? n : 128)] = (unsigned char)below(256);
    if (n >= 4 && below(4) > 0) {
        sum = checksum(bytes, n - 4);
        for (k = 0; k < 4; ++k)
            bytes[n - 4 + k] = (unsigned char)(sum >> 8 * k & 0xFF);
    }
    return n;
}

static int save(name_context *self, unsigned char *bytes)
{
    uint32_t n = 0;
    return name_save(self, bytes, NAME_STATE_BYTES, &n) == NAME_OK ? (int)n : -1;
}

int main(int n_arguments, char **arguments)
{
    static name_context self;
    static unsigned char before[NAME_STATE_BYTES], after[NAME_STATE_BYTES];
    long n_calls = n_arguments > 1 ? atol(arguments[1]) : 10000, k, n_loaded = 0, n_refused = 0;
    random_word += n_arguments > 2 ? (uint64_t)atol(arguments[2]) * 2654435761u : 0;
    name_init(&self);
    for (k = 0; k < n_calls; ++k) {
        name_real x[NAME_N_FEATURES];
        double scores[NAME_N_OUTPUTS]; /* at least as many as there are */
        const int looks = below(16) == 0;
        int n_before = looks ? save(&self, before) : 0, code, f;
        for (f = 0; f < NAME_N_FEATURES; ++f)
            x[f] = as_real(below(4) == 0 ? hostile() : ((double)below(2001) - 1000.0) / 500.0);
        if (n_before < 0) { /* numbers have grown too large, after a state that was made up */
            name_init(&self);
            n_before = save(&self, before);
        }
        if (looks && below(8) == 0) {
            uint32_t n;
            memcpy(after, before, (size_t)n_before);
            n = mutate(after, (uint32_t)n_before);
            code = name_load(&self, after, n);
            n_loaded += code == NAME_OK;
        } else {
            code = learn_something(&self, x);
        }
        n_refused += code != NAME_OK;
        if (code < NAME_OK || code > NAME_NO_ROOM)
            return 1;
        if (looks && code != NAME_OK && (save(&self, after) != n_before || memcmp(before, after, (size_t)n_before) != 0))
            return 2;
        if (self.n_slots > NAME_BUDGET)
            return 3;
        (void)name_scores(&self, x, scores);
        (void)name_predict(&self, x);
        if (promise(&self, x))
            return 5;
        if (below(5000) == 0)
            name_init(&self);
    }
    printf("%ld loaded, %ld refused\n", n_loaded, n_refused);
    return n_loaded > 0 && n_refused > 0 ? 0 : 4;
}
