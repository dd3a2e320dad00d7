/* What the learner needs of C's mathematics; the page provides exp, expm1, log and pow. */
#define NAN __builtin_nanf("")
double exp(double);
double expm1(double);
double log(double);
double pow(double, double);
#define sqrt __builtin_sqrt
#define fabs __builtin_fabs
