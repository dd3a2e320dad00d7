"""Numba at arm's length, and threads: how functions become machine code, where it is kept, and who runs it.

Nothing else names Numba. Nothing is imported here: threads and memory are asked for by those who must start quickly.
"""
