/* Exported learners for a page: one of them at a time, with settings that may change. The constants that these are in an
   exported learner are variables here (docs/_ext/playground.py). */
#include "playground.h"

#include <math.h>
#include <string.h>

enum { MAP_WIDTH = 48, MOST_SLOTS = 101, MOST_CLASSES = 3 };

#define EXPORT __attribute__((visibility("default")))
#define MODELS(DO) DO(0, merge, 2) DO(1, merge, 3) DO(2, project, 2) DO(3, project, 3) DO(4, remove, 2) DO(5, remove, 3)

static union {
#define FIELD(which, policy, n) policy##n##_context policy##n;
    MODELS(FIELD)
} learner;

uint32_t play_budget = 50;
float play_gamma, play_twice_gamma;
double play_exact_gamma, play_lambda, play_clock;

static int at_hand;
static unsigned char map[MAP_WIDTH * MAP_WIDTH][4];  /* red, green, blue, and how sure the class is: opacity */
static float vectors[MOST_SLOTS][4];                 /* x, y, class, share of the largest coefficient */
static unsigned char state[200000];
static const unsigned char colors[MOST_CLASSES][3] = {{31, 111, 235}, {230, 126, 34}, {46, 160, 67}};

void *memcpy(void *to, const void *from, size_t n)
{
    size_t k;
    for (k = 0; k < n; ++k)
        ((unsigned char *)to)[k] = ((const unsigned char *)from)[k];
    return to;
}

void *memset(void *to, int value, size_t n)
{
    size_t k;
    for (k = 0; k < n; ++k)
        ((unsigned char *)to)[k] = (unsigned char)value;
    return to;
}

EXPORT void play_begin(int which, int budget, double gamma, double lambda, double clock)
{
    const double log2e = 1.4426950408889634;
    at_hand = which;
    play_budget = (uint32_t)budget;
    play_gamma = (float)(gamma * log2e);
    play_twice_gamma = (float)(2.0 * gamma * log2e);
    play_exact_gamma = gamma;
    play_lambda = lambda;
    play_clock = clock;
    switch (at_hand) {
#define INIT(which, policy, n) case which: policy##n##_init(&learner.policy##n); break;
        MODELS(INIT)
    }
}

EXPORT int play_learn(float x, float y, int label)
{
    const float row[2] = {x, y};
    switch (at_hand) {
#define LEARN(which, policy, n) case which: return policy##n##_learn(&learner.policy##n, row, label);
        MODELS(LEARN)
    }
    return -1;
}

EXPORT int play_predict(float x, float y)
{
    const float row[2] = {x, y};
    switch (at_hand) {
#define PREDICT(which, policy, n) case which: return policy##n##_predict(&learner.policy##n, row);
        MODELS(PREDICT)
    }
    return -1;
}

/* The class of a point, and by how much its score is ahead of the next. */
static int best_class(float x, float y, double *ahead)
{
    const float row[2] = {x, y};
    double scores[MOST_CLASSES] = {0.0, 0.0, 0.0}, best, second;
    int k, found = 0, n = 0;
    switch (at_hand) {
#define SCORES(which, policy, n_classes) \
    case which: n = n_classes; policy##n_classes##_scores(&learner.policy##n_classes, row, scores); break;
        MODELS(SCORES)
    }
    if (n == 2) {
        *ahead = fabs(scores[0]);
        return scores[0] >= 0.0;
    }
    for (k = 1; k < n; ++k)
        if (scores[k] > scores[found])
            found = k;
    best = scores[found];
    second = -1e300;
    for (k = 0; k < n; ++k)
        if (k != found && scores[k] > second)
            second = scores[k];
    *ahead = best - second;
    return found;
}

/* Lines of the map from the first one on, each "apart" from the next. */
EXPORT unsigned char *play_map(int first, int apart)
{
    int i, j, k;
    for (i = first; i < MAP_WIDTH; i += apart) {
        for (j = 0; j < MAP_WIDTH; ++j) {
            unsigned char *pixel = map[i * MAP_WIDTH + j];
            double ahead;
            const float x = ((float)j + 0.5f) * (2.0f / MAP_WIDTH) - 1.0f, y = 1.0f - ((float)i + 0.5f) * (2.0f / MAP_WIDTH);
            const unsigned char *color = colors[best_class(x, y, &ahead)];
            for (k = 0; k < 3; ++k)
                pixel[k] = color[k];
            pixel[3] = (unsigned char)(25.0 + 110.0 * (ahead < 1.0 ? ahead : 1.0));
        }
    }
    return &map[0][0];
}

/* The class that a vector speaks for, by its coefficients. */
#define SHOW(which, policy, n)                                                                                          \
    case which: {                                                                                                       \
        const policy##n##_context *self = &learner.policy##n;                                                           \
        double most = 1e-300;                                                                                           \
        for (j = 0; j < self->n_slots; ++j)                                                                             \
            most = self->sizes[j] > most ? self->sizes[j] : most;                                                       \
        for (j = 0; j < self->n_slots; ++j) {                                                                           \
            int k, own = n == 2 ? self->coef[0][j] > 0.0 : 0;                                                           \
            for (k = 1; n > 2 && k < n; ++k)                                                                            \
                own = self->coef[k % (n == 2 ? 1 : n)][j] > self->coef[own][j] ? k : own;                               \
            vectors[j][0] = self->rows[j][0];                                                                           \
            vectors[j][1] = self->rows[j][1];                                                                           \
            vectors[j][2] = (float)own;                                                                                 \
            vectors[j][3] = (float)__builtin_sqrt(self->sizes[j] / most);                                               \
        }                                                                                                               \
        return (int)self->n_slots;                                                                                      \
    }

EXPORT int play_vectors(void)
{
    uint32_t j;
    switch (at_hand) {
        MODELS(SHOW)
    }
    return 0;
}

EXPORT float *play_vector_table(void)
{
    return &vectors[0][0];
}

/* Mean gradient error: what budget maintenance took from the model, over the step size. */
EXPORT double play_gradient_error(void)
{
    switch (at_hand) {
#define ERROR(which, policy, n) \
    case which: return learner.policy##n.error_sum / (double)(learner.policy##n.n_seen + (learner.policy##n.n_seen == 0));
        MODELS(ERROR)
    }
    return 0.0;
}

/* Bytes of the state; they begin at play_state. */
EXPORT int play_save(void)
{
    uint32_t n = 0;
    switch (at_hand) {
#define SAVE(which, policy, n_classes) \
    case which: return policy##n_classes##_save(&learner.policy##n_classes, state, sizeof state, &n) == 0 ? (int)n : -1;
        MODELS(SAVE)
    }
    return -1;
}

EXPORT unsigned char *play_state(void)
{
    return state;
}
