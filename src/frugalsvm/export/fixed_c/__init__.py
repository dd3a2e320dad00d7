"""Models in whole numbers, for chips without an FPU."""
