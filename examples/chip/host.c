/* The same program on this machine: build it with main.c and sensor.c to see what the chip does. */
#include "chip.h"

#include <stdio.h>

void print(const char *text)
{
    fputs(text, stdout);
}

uint32_t ticks(void)
{
    return 0;
}

uint32_t stack_used(void)
{
    return 0;
}

uint32_t ram_used(void)
{
    return 0;
}
