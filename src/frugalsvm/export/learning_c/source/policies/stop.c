/* A full model turns newcomers away. Returns -1 then. */
static double admit(context *self)
{
    if (self->n_slots <= NAME_BUDGET)
        return 0.0;
    free_slot(self, self->n_slots - 1);
    return -1.0;
}
