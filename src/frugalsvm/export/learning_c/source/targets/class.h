/* Learn a row and the index of its class in name_labels. Returns NAME_OK, or why nothing was learned. */
int name_learn(name_context *self, const name_real *x, int label);

/* The index of the predicted class in name_labels, or NAME_NO_CLASS for a bad row. */
int name_predict(name_context *self, const name_real *x);

/* The scores of a row, NAME_N_SCORES of them: with two classes one, which from zero upwards means class 1. Returns
   NAME_OK or NAME_BAD_ROW. */
int name_scores(name_context *self, const name_real *x, double *scores);
