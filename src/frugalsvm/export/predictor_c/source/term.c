@distance?const real difference = x[k] - vector[k];
@distance?sum += difference * difference;
@laplacian?sum += fabs@f@(x[k] - vector[k]);
@intersection?sum += x[k] < vector[k] ? x[k] : vector[k];
@chi2?const real both = x[k] + vector[k], difference = x[k] - vector[k];
@chi2?if (both > 0)
@chi2?    sum += difference * difference / both;
@product?sum += x[k] * vector[k];
