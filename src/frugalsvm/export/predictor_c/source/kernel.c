static real name_kernel(const real *x, int j)
{
    const real *vector = name_vectors[j];
    real sum = 0;
@poly?    real power;
@angle?    real norm_x = 0, norm_v = 0;
    int k;
    for (k = 0; k < N_FEATURES; ++k) {
        @term@
@angle?        norm_x += x[k] * x[k];
@angle?        norm_v += vector[k] * vector[k];
    }
@decay?    sum *= @gamma@;
@decay?    return sum < @farthest@ ? exp@f@(-sum) : 0;
@matern?    sum = sqrt@f@(@factor@ * sum);
@matern?    return sum < @farthest@ ? @polynomial@ * exp@f@(-sum) : 0;
@poly?    sum = @gamma@ * sum + @coef0@;
@poly?    power = sum;
@poly?    for (k = 1; k < @degree@; ++k)
@poly?        power *= sum;
@poly?    return power;
@fourier?    sum += name_offsets[j];
@fourier?    sum -= floor@f@(sum + @half@);
@fourier?    return cos@f@(@turn@ * sum);
@angle?    norm_x = @beneath@;
@angle?    return norm_x > 0 ? sum / norm_x : 0;
@sum?    return sum;
}
