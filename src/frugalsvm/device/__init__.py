"""Low-rank kernel machines and kernel expansions on arrays of any library: NumPy, or PyTorch on a CPU or a GPU.

Written against the array API standard. Nothing here imports PyTorch until somebody asks for a device of its own.
"""
