/* Learn a row. Returns NAME_OK, or NAME_BAD_ROW: then nothing was learned. */
int name_learn(name_context *self, const name_real *x);

/* 1, or -1 for an outlier, or NAME_NO_CLASS for a bad row. */
int name_predict(name_context *self, const name_real *x);

/* The score of a row less the offset, below zero for outliers. Returns NAME_OK or NAME_BAD_ROW. */
int name_scores(name_context *self, const name_real *x, double *score);
