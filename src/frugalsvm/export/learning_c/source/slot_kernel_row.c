/* Kernel values of the vector in a slot with all slots in use. */
static void slot_kernel_row(context *self, slot m)
{
    slot j;
    for (j = 0; j < self->n_slots; ++j)
        self->kernel_row[j] = kernel_value(example_pair(self->rows[m], self->rows[j]), self->norms[j], self->norms[m]);
    self->n_kernel_values += self->n_slots;
}
