/* What a program on the chip needs besides the learner. */
#ifndef CHIP_H
#define CHIP_H

#include <stdint.h>

void print(const char *text);
uint32_t ticks(void);
uint32_t stack_used(void);
uint32_t ram_used(void);

#endif
