#ifndef NAME_H
#define NAME_H

#define NAME_N_FEATURES @n_numbers@
#define NAME_N_SCORES @n_scores@
@n_texts?#define NAME_N_TEXTS @n_texts@
@n_classes?#define NAME_N_CLASSES @n_classes@
@no_class?#define NAME_NO_CLASS (@no_class@)

#ifdef __cplusplus
extern "C" {
#endif

@n_classes?@labels@
@n_classes?
@n_texts?extern const @texts@;
@n_texts?
/* The scores of a row, NAME_N_SCORES of them: @words@.
   Returns 0; or 1 if a score is NaN: all of them are if a number of x is @not_finite@.
   (Not so with -ffast-math, which takes every number for a finite one.) */
int name_decision(@row@, real *scores);

/* @returns@ */
@predicted@ name_predict(@row@);

@explain@
#ifdef __cplusplus
}
#endif

#endif
