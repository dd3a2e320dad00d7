#ifndef NAME_H
#define NAME_H

#include <stdint.h>

@sizes@

#ifdef __cplusplus
extern "C" {
#endif

@labels@

/* A row as the functions below take it: whole numbers, (x - offset) / step for each feature, within its limits. This is
   the only function that computes in float, for rows that are not whole numbers yet; a device without an FPU may do the
   same in its own units. Returns 0, or 1 if a number is NaN or infinite. */
int name_quantize(const float *x, int16_t *row);

/* The scores of a row, NAME_N_OUTPUTS of them, in units of NAME_SCORE_UNIT. */
void name_decision(const int16_t *row, int64_t *scores);

/* @predicted@ */
@result@ name_predict(const int16_t *row);

#ifdef __cplusplus
}
#endif

#endif
