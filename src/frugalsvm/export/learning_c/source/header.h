#ifndef NAME_H
#define NAME_H

#include <stdint.h>

@sizes@

/* What functions return besides their results. */
#define NAME_OK 0
#define NAME_BAD_ROW 1    /* a number is NaN, infinite, or too large to be squared */
#define NAME_BAD_TARGET 2 /* no class has this index; or a target is not finite */
#define NAME_BAD_STATE 3  /* bytes that are not a state of this model, or are damaged */
#define NAME_NO_ROOM 4    /* fewer bytes than a state needs */

#ifdef __cplusplus
extern "C" {
#endif

typedef @real@ name_real;

/* A learner. All of it is here: nothing is allocated, nothing is global, several learners may run side by side. */
typedef struct {
    double scale;                                     /* the model is scale * sum_j coef[][j] K(rows[j], x) */
    double error_sum;                                 /* of what budget maintenance took from the model */
    uint64_t n_seen, n_updates, n_maintenance, n_kernel_values;
    double coef[NAME_N_OUTPUTS][NAME_SLOTS];
    double sizes[NAME_SLOTS];                         /* ||coef[][j]||^2 K(rows[j], rows[j]) */
    uint64_t births[NAME_SLOTS];                      /* the example at which a slot got its vector */
    double scores[NAME_N_OUTPUTS];                    /* of the row at hand, without the scale */
    double direction[NAME_N_OUTPUTS];                 /* what learning the row adds to the coefficients */
@fields@
    name_real rows[NAME_SLOTS][NAME_N_FEATURES];      /* support vectors */
    name_real norms[NAME_SLOTS];
    name_real row[NAME_N_FEATURES];                   /* the row at hand, as the kernel sees it */
    name_real kernel_row[NAME_SLOTS];                 /* its kernel values with the slots */
    uint32_t n_slots;                                 /* slots in use */
} name_context;

/* Begin with the model as it was exported. */
void name_init(name_context *self);

@interface@

/* Write the state, up to NAME_STATE_BYTES bytes, which frugalsvm.export.read_state reads. Returns NAME_OK and the
   number of bytes written, or NAME_NO_ROOM. */
int name_save(name_context *self, unsigned char *bytes, uint32_t n_bytes, uint32_t *n_written);

/* Continue from a state of this model, from here or from frugalsvm.export.write_state. Bytes that are anything else
   change nothing: NAME_BAD_STATE is returned. */
int name_load(name_context *self, const unsigned char *bytes, uint32_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
