/* Merging two Gaussian support vectors m and n into z = h x_m + (1-h) x_n (Wang, Crammer & Vucetic 2012, section 6.3).
   A = ||a_m||^2, C = <a_m, a_n>, B = ||a_n||^2, and log_kappa is the logarithm of K(x_m, x_n). */

static double log_kernel_value(const context *self, slot j)
{
    const double value = (double)self->kernel_row[j], positive = value > 1e-37 ? value : 1e-37;
    return log(positive < 1.0 ? positive : 1.0);
}

/* The best h for A <= B: Newton's method inside the bracket [0, 1/2]. */
static double best_point_in_half(double A, double C, double B, double log_kappa)
{
    const double exponent = log_kappa * 1.4426950408889634;
    const int is_near = log_kappa > -1.5;
    double r = 1.0, low = 0.0, high = 0.5, scale, start, h;
    int k;
    if (C <= 0.0 || !is_near) {
        r = exp2_nonpositive(exponent);
        if (A * r + C <= 0.0) /* opposed coefficients: nothing is gained by leaving x_n */
            return 0.0;
    }
    /* Near pairs start from the parabola at kappa = 1, far ones from the side of the larger coefficient. */
    r = is_near ? 1.0 : r;
    scale = 1.0 / ((A * r + 2.0 * C) * r + B);
    start = (A * r + C) * r * scale;
    if (is_near) {
        const double first = (C - 2.0 * start * (C + B)) * scale;
        const double second = -(4.0 * first * (C + B) + 2.0 * start * B) * scale;
        const double lean = 2.0 * start - 1.0, bend = 2.0 * first * first + 0.5 * (first + second) * lean;
        start += lean * log_kappa * (first + log_kappa * bend);
    }
    h = start > low ? start : low;
    h = h < high ? h : high;
    for (k = 0; k < 40; ++k) {
        double top, target, error, slope, step, new_h;
        r = exp2_nonpositive(exponent * (1.0 - 2.0 * h));
        top = A * r + C;
        scale = 1.0 / ((A * r + 2.0 * C) * r + B);
        target = top * r * scale;
        error = h - target;
        slope = 1.0 + 2.0 * log_kappa * r * (2.0 * A * r + C - 2.0 * target * top) * scale;
        step = error / slope;
        if (slope > 0.2 && fabs(step * log_kappa) < 1e-5) /* quadratic convergence: the next error is below 1e-10 */
            return h - step;
        if (error < 0.0)
            low = h;
        else
            high = h;
        new_h = h - step;
        if (slope <= 0.0 || new_h < low || new_h > high)
            new_h = 0.5 * (low + high);
        if (fabs(new_h - h) < 1e-10)
            return new_h;
        h = new_h;
    }
    return h;
}

/* The h in [0, 1] with the least degradation; of two equal maxima the one nearer to x_n is taken. */
static double best_point(double A, double C, double B, double log_kappa)
{
    if (A > B * (1.0 + 1e-9))
        return 1.0 - best_point_in_half(B, C, A, log_kappa);
    return best_point_in_half(A < B ? A : B, C, B, log_kappa);
}

/* The squared norm of what is lost by merging at h. */
static double degradation(double A, double C, double B, double log_kappa, double h)
{
    const double exponent = 2.0 * 1.4426950408889634 * log_kappa, mixed = h * (1.0 - h) * exponent;
    const double from_m = below_one((1.0 - h) * (1.0 - h) * exponent), from_n = below_one(h * h * exponent);
    const double both = 0.5 * exponent - mixed;
    const double from_both = exp2_nonpositive(both < 0.0 ? both : 0.0) * below_one(mixed);
    const double lost = A * from_m + B * from_n - 2.0 * C * from_both;
    return lost > 0.0 ? lost : 0.0;
}

/* A lower bound of degradation / A, for size_ratio = B / A >= 1 and the cosine of the coefficients. */
static double lower_bound(double kappa, double size_ratio, double cosine)
{
    const double u = sqrt(kappa), x = 1.0 - u;
    double parallel, orthogonal;
    if (kappa >= 0.1353352832366127) {
        const double r = sqrt(size_ratio), q = 2.0 * r / (1.0 + r), s = (q * q - 1.0) * (1.0 / 3.0);
        parallel = x * x * (2.0 + s * ((2.0 - x) * (1.0 + u + 2.0 * kappa) - 2.0));
    } else {
        parallel = 1.0 - 4.05 * kappa * u;
    }
    if (cosine >= 1.0)
        return parallel;
    orthogonal = kappa >= 0.36787944117144233 ? 2.0 * x : 1.0 - kappa * kappa - 4.25 * kappa * kappa * kappa * u;
    return cosine * parallel + (1.0 - cosine) * orthogonal;
}

/* The kappa at which the bound for equal sizes and parallel coefficients is relative_loss. */
static double least_winning_kappa(double relative_loss)
{
    const double root_e_minus_2 = 0.36787944117144233;
    double root, rest;
    if (relative_loss < 2.0 * (1.0 - root_e_minus_2) * (1.0 - root_e_minus_2)) {
        root = 1.0 - sqrt(0.5 * relative_loss);
        return root * root;
    }
    rest = (1.0 - relative_loss) / 4.05;
    return pow(rest > 0.0 ? rest : 0.0, 2.0 / 3.0);
}

/* The degradation of merging slots m and n, and the h where it is least. */
static double merging_loss(const context *self, slot m, slot n, double *h)
{
    const double log_kappa = log_kernel_value(self, n);
    double overlap = 0.0;
    int o;
    for (o = 0; o < N_OUTPUTS; ++o)
        overlap += self->coef[o][m] * self->coef[o][n];
    *h = best_point(self->sizes[m], overlap, self->sizes[n], log_kappa);
    return degradation(self->sizes[m], overlap, self->sizes[n], log_kappa, *h);
}
