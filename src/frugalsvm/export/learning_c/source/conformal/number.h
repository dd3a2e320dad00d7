/* The interval of a row, whose ends may be infinite. Returns NAME_OK or NAME_BAD_ROW. */
int name_predict_interval(name_context *self, const name_real *x, double *low, double *high);
