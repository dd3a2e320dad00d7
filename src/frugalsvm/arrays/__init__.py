"""Arrays of any library, NumPy or PyTorch on a CPU or a GPU: moving rows to and from a device, and kernels there.

Written against the array API standard. Nothing here imports PyTorch until somebody asks for a GPU.
"""
