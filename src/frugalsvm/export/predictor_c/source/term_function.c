static real name_term(const real *x, int j, int k)
{
    const real *vector = name_vectors[j];
    real sum = 0;
    @term@
    return sum;
}
