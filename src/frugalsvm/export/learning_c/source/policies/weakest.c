/* Remove the support vector of the least absolute coefficient. Returns the squared norm of what is lost. */
static double admit(context *self)
{
    slot weakest = 0, j;
    double lost;
    if (self->n_slots <= NAME_BUDGET)
        return 0.0;
    for (j = 1; j < self->n_slots; ++j)
        if (fabs(self->coef[0][j]) < fabs(self->coef[0][weakest]))
            weakest = j;
    lost = self->sizes[weakest];
    free_slot(self, weakest);
    self->n_maintenance += 1;
    return lost;
}
