/* A stream that drifts, predicted and then learned, row by row, in 16 KB of RAM.

   Four sensors; whether the machine is all right depends on two of them, and in the middle of the stream on two others.
   The numbers that are printed are for the test and for the documentation. sensor.h and sensor.c are a learner that was
   exported as "sensor"; tests/export/test_learning_on_a_chip.py has the commands that build and run all of this:

       arm-none-eabi-gcc -std=c99 -O2 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -nostartfiles \
           --specs=nosys.specs -T chip.ld -o sensor.elf startup.c main.c sensor.c -lm
       qemu-system-arm -M mps2-an386 -nographic -semihosting -icount shift=0 -kernel sensor.elf */
#include "chip.h"
#include "sensor.h"

enum { N_ROWS = 4000, N_BLOCKS = 4 };

static sensor_context learner;
static unsigned char state[SENSOR_STATE_BYTES];

static uint32_t random_word = 1;

/* Marsaglia's xorshift, as a number in [-1, 1]. */
static float random_number(void)
{
    random_word ^= random_word << 13;
    random_word ^= random_word >> 17;
    random_word ^= random_word << 5;
    return (float)(random_word >> 8) / 8388608.0f - 1.0f;
}

static void print_number(const char *what, uint32_t value)
{
    char text[12];
    int place = 11;
    text[place] = 0;
    do {
        text[--place] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    print(what);
    print(" ");
    print(text + place);
    print("\n");
}

int main(void)
{
    float x[SENSOR_N_FEATURES];
    uint32_t n_right = 0, n_bytes = 0, in_learning = 0, row;
    int f;
    sensor_init(&learner);
    for (row = 0; row < N_ROWS; ++row) {
        const int shift = row < N_ROWS / 2 ? 0 : 2;
        uint32_t before;
        int label;
        for (f = 0; f < SENSOR_N_FEATURES; ++f)
            x[f] = random_number();
        label = x[shift] * x[1 + shift] > 0.0f;
        n_right += sensor_predict(&learner, x) == label;
        before = ticks();
        sensor_learn(&learner, x, label);
        in_learning += (ticks() - before) & 0xFFFFFFu;
        if ((row + 1) % (N_ROWS / N_BLOCKS) == 0) {
            print_number("right", n_right);
            n_right = 0;
        }
    }
    sensor_save(&learner, state, sizeof state, &n_bytes);
    print_number("checksum", state[n_bytes - 4] | (uint32_t)state[n_bytes - 3] << 8 | (uint32_t)state[n_bytes - 2] << 16
                                 | (uint32_t)state[n_bytes - 1] << 24);
    print_number("updates", (uint32_t)learner.n_updates);
    print_number("ticks", in_learning / N_ROWS);
    print_number("stack", stack_used());
    print_number("ram", ram_used());
    return 0;
}
