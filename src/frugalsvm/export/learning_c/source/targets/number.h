/* Learn a row and its NAME_N_TARGETS targets. Returns NAME_OK, or why nothing was learned. */
int name_learn(name_context *self, const name_real *x, const double *targets);

/* The predictions of a row, NAME_N_OUTPUTS of them. Returns NAME_OK or NAME_BAD_ROW. */
int name_scores(name_context *self, const name_real *x, double *scores);

/* @predicted_in_words@, or NaN for a bad row. */
double name_predict(name_context *self, const name_real *x);
