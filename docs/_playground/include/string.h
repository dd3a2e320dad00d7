/* What the learner needs of C's memory functions. */
typedef __SIZE_TYPE__ size_t;
void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
