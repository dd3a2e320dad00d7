static void pass_slot(context *self, channel *state, slot j)
{
    int f, o;
    for (f = 0; f < N_FEATURES; ++f)
        pass_real(state, &self->rows[j][f], -ROW_LARGEST, ROW_LARGEST);
    pass_real(state, &self->norms[j], 0, REAL_MAX);
    for (o = 0; o < N_OUTPUTS; ++o) {
        double value = self->coef[o][j];
        pass_double(state, &value, -COEFFICIENT_LARGEST, COEFFICIENT_LARGEST);
        if (state->what == READING)
            set_coefficient(self, o, j, value);
    }
    pass_double(state, &self->sizes[j], 0.0, COEFFICIENT_LARGEST);
    pass_count(state, &self->births[j], 0, LARGEST_COUNT);
}

static void pass_state(context *self, channel *state)
{
    uint64_t n_slots = self->n_slots;
    slot j;
    pass_constant(state, UINT64_C(0x4D565346), 4); /* FSVM */
    pass_constant(state, STATE_VERSION, 4);
    pass_constant(state, STATE_DIGEST, 8);
    pass_double(state, &self->scale, 1e-300, LARGEST_NUMBER);
    pass_double(state, &self->error_sum, 0.0, LARGEST_NUMBER);
    pass_count(state, &self->n_seen, 0, LARGEST_COUNT);
    pass_count(state, &self->n_updates, 0, LARGEST_COUNT);
    pass_count(state, &self->n_maintenance, 0, LARGEST_COUNT);
    pass_count(state, &self->n_kernel_values, 0, LARGEST_COUNT);
    n_slots = pass_count(state, &n_slots, 0, NAME_BUDGET);
    if (state->what == READING)
        self->n_slots = (slot)n_slots;
    for (j = 0; j < n_slots && state->is_sound; ++j)
        pass_slot(self, state, j);
@visits@
}

int name_save(name_context *self, unsigned char *bytes, uint32_t n_bytes, uint32_t *n_written)
{
    channel state;
    uint32_t sum, k;
    memset(&state, 0, sizeof state);
    if (n_bytes < CHECKSUM_BYTES)
        return NAME_NO_ROOM;
    state.target = bytes;
    state.n_bytes = n_bytes - CHECKSUM_BYTES;
    state.what = WRITING;
    state.has_room = state.is_sound = 1;
    pass_state(self, &state);
    if (!state.is_sound)
        return state.has_room ? NAME_BAD_STATE : NAME_NO_ROOM;
    sum = checksum(bytes, state.position);
    for (k = 0; k < CHECKSUM_BYTES; ++k)
        bytes[state.position + k] = (unsigned char)(sum >> 8 * k & 0xFF);
    *n_written = state.position + CHECKSUM_BYTES;
    return NAME_OK;
}

int name_load(name_context *self, const unsigned char *bytes, uint32_t n_bytes)
{
    channel state;
    uint32_t sum = 0, k;
    memset(&state, 0, sizeof state);
    if (n_bytes < CHECKSUM_BYTES)
        return NAME_BAD_STATE;
    state.source = bytes;
    state.n_bytes = n_bytes - CHECKSUM_BYTES;
    for (k = 0; k < CHECKSUM_BYTES; ++k)
        sum |= (uint32_t)bytes[state.n_bytes + k] << 8 * k;
    if (sum != checksum(bytes, state.n_bytes))
        return NAME_BAD_STATE;
    state.what = CHECKING;
    state.has_room = state.is_sound = 1;
    pass_state(self, &state);
    if (!state.is_sound || state.position != state.n_bytes)
        return NAME_BAD_STATE;
    state.position = 0;
    state.what = READING;
    pass_state(self, &state);
    return NAME_OK;
}

void name_init(name_context *self)
{
    memset(self, 0, sizeof *self);
    (void)name_load(self, initial_state, sizeof initial_state);
}
