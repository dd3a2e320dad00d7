#include "name.h"

#include <float.h>
#include <math.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "Compile without -ffast-math: the model relies on how numbers are rounded, and that NaN is one of them."
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

typedef name_context context;
typedef name_real real;
typedef uint32_t slot;
typedef char needs_double_of_64_bits[sizeof(double) == 8 ? 1 : -1];

enum { N_FEATURES = NAME_N_FEATURES, N_OUTPUTS = NAME_N_OUTPUTS };
