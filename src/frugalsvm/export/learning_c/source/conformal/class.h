/* The set of labels of a row: in_set, NAME_N_CLASSES long, gets 1 for those that are in the set, and 0 for the others.
   Returns how many are in it, or -1 for a bad row. */
int name_predict_set(name_context *self, const name_real *x, unsigned char *in_set);
