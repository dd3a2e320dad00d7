/* What happens before main: variables, the FPU, a clock; and how the program talks to the emulator (semihosting). */
#include "chip.h"

#include <stdint.h>

extern uint32_t data_start[], data_end[], data_source[], bss_start[], bss_end[], paint_end[], stack_top[]; /* from chip.ld */
extern int main(void);

#define CPACR (*(volatile uint32_t *)0xE000ED88) /* who may use the FPU */
#define SYSTICK_CONTROL (*(volatile uint32_t *)0xE000E010)
#define SYSTICK_RELOAD (*(volatile uint32_t *)0xE000E014)
#define SYSTICK_VALUE (*(volatile uint32_t *)0xE000E018)

static void semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

void print(const char *text)
{
    semihosting(0x04, text);
}

static void stop(void)
{
    semihosting(0x18, (const void *)0x20026);
    for (;;) {
    }
}

static void fault(void)
{
    print("fault\n");
    stop();
}

/* The clock counts down, 24 bits. */
uint32_t ticks(void)
{
    return 0xFFFFFFu - SYSTICK_VALUE;
}

/* The free part of the RAM is painted, so that what the stack has used shows. */
uint32_t stack_used(void)
{
    const uint32_t *word = bss_end;
    while (*word == 0xA5A5A5A5u)
        ++word;
    return (uint32_t)((const char *)stack_top - (const char *)word);
}

uint32_t ram_used(void)
{
    return (uint32_t)((const char *)bss_end - (const char *)data_start) + stack_used();
}

void reset(void)
{
    const uint32_t *source = data_source;
    uint32_t *word;
    CPACR |= 0xFu << 20;
    __asm__ volatile("dsb\nisb");
    for (word = data_start; word < data_end; ++word)
        *word = *source++;
    for (word = bss_start; word < bss_end; ++word)
        *word = 0;
    for (word = bss_end; word < paint_end; ++word)
        *word = 0xA5A5A5A5u;
    SYSTICK_RELOAD = 0xFFFFFF;
    SYSTICK_VALUE = 0;
    SYSTICK_CONTROL = 5;
    main();
    stop();
}

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[7])(void);
} vectors = {stack_top, {reset, fault, fault, fault, fault, fault, fault}};
