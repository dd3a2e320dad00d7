"""Slow reference implementations, written from the papers for reading.

Each oracle states one algorithm in plain numpy, float64, with the equation numbers of its paper and without
any speed trick. The compiled engines are compared with them step by step; nothing here imports the library.
"""
