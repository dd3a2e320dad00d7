static void keep_scale(context *self)
{
    if (self->scale < 1e-9)
        fold_scale(self);
}
