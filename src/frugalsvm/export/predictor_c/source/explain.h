#define NAME_N_VALUES @n_values@

/* The @scores@ when no input is there. */
extern const real name_base_values[NAME_N_VALUES];

/* The shares of the inputs of a row x in its @scores@: that of input k in score o is
   shares[k * NAME_N_VALUES + o]. With the base values they add up to the @scores@.
   Returns 0; or 1, with NaN for the shares, where name_decision does. */
int name_explain(const real *x, real *shares);
