/* The row at hand and a support vector. */
static real example_pair(const real *x, const real *z)
{
    return slot_pair(x, z);
}
