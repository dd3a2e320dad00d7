/* What the learner needs of C's mathematics; the page provides exp, log and pow. */
#define FROM_THE_PAGE(name) __attribute__((import_module("env"), import_name(#name)))
#define NAN __builtin_nanf("")
FROM_THE_PAGE(exp) double exp(double);
FROM_THE_PAGE(log) double log(double);
FROM_THE_PAGE(pow) double pow(double, double);
#define sqrt __builtin_sqrt
#define fabs __builtin_fabs
