/* The threshold where no miss is due. */
static double beyond_all(const context *self, uint32_t n)
{
    (void)self;
    (void)n;
    return ENDLESS;
}
