/* States as bytes: the least significant byte first, a checksum at the end. One function says what is in them; it is
   gone through to write, to check, and to read. */
#define LARGEST_NUMBER 1e300

enum { STATE_VERSION = 1, CHECKSUM_BYTES = 4 };

typedef enum { WRITING, CHECKING, READING } purpose;

typedef struct {
    unsigned char *target;       /* when it is written */
    const unsigned char *source; /* when it is checked or read */
    uint32_t n_bytes, position;
    purpose what;
    int has_room;
    int is_sound;
} channel;

/* CRC-32 (ISO 3309). */
static uint32_t checksum(const unsigned char *bytes, uint32_t n_bytes)
{
    uint32_t crc = UINT32_C(0xFFFFFFFF), k;
    int bit;
    for (k = 0; k < n_bytes; ++k) {
        crc ^= bytes[k];
        for (bit = 0; bit < 8; ++bit)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
    }
    return ~crc;
}

/* The value that is written or was read. */
static uint64_t pass_bits(channel *state, uint64_t *value, uint32_t n_bytes)
{
    uint64_t bits = 0;
    uint32_t k;
    if (n_bytes > state->n_bytes - state->position) {
        state->has_room = state->is_sound = 0;
        return 0;
    }
    if (state->what == WRITING) {
        bits = *value;
        for (k = 0; k < n_bytes; ++k)
            state->target[state->position + k] = (unsigned char)(bits >> 8 * k & 0xFF);
    } else {
        for (k = 0; k < n_bytes; ++k)
            bits |= (uint64_t)state->source[state->position + k] << 8 * k;
        if (state->what == READING)
            *value = bits;
    }
    state->position += n_bytes;
    return bits;
}

static uint64_t pass_count(channel *state, uint64_t *value, uint64_t least, uint64_t most)
{
    const uint64_t count = pass_bits(state, value, 8);
    if (count < least || count > most)
        state->is_sound = 0;
    return count;
}

static void pass_double(channel *state, double *value, double least, double most)
{
    uint64_t bits;
    double number;
    memcpy(&bits, value, sizeof bits);
    bits = pass_bits(state, &bits, 8);
    memcpy(&number, &bits, sizeof number);
    if (!(number >= least && number <= most))
        state->is_sound = 0;
    if (state->what == READING)
        *value = number;
}

static void pass_constant(channel *state, uint64_t expected, uint32_t n_bytes)
{
    uint64_t value = expected;
    if (pass_bits(state, &value, n_bytes) != expected)
        state->is_sound = 0;
}
