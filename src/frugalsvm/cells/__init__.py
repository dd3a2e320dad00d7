"""Kernel machines in the cells of balanced trees: each is exact for its rows, and all are independent of each other."""
