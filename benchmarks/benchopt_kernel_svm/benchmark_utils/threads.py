"""One thread for everybody, or times say more about the machine than about the solvers."""

from threadpoolctl import threadpool_limits

__all__ = ["use_one_thread"]


def use_one_thread():
    """Limit the matrix products of this process to one thread, for good."""
    threadpool_limits(1)
