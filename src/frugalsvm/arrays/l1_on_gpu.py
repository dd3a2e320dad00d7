"""L1 distances on a GPU, of which PyTorch has no fast routine: `torch.cdist` starts a block of threads for each pair.

They are what a matrix product is, with ``|a - b|`` in the place of ``a b``, and so is the kernel below: a block of
threads makes a tile of 128 x 128 distances, a thread 8 x 8 of them in registers, from 8 features at a time in shared
memory. It is compiled when it is first used. PyTorch offers that since 2.9, in a function that it calls private; where
it is not there, distances are added up feature by feature, which takes many times as long.
"""

from functools import cache
from typing import Any

_TILE = 128
_THREADS = 16  # in each direction
_SOURCE = r"""
#define TILE 128
#define STEP 8
#define EACH 8

extern "C" __global__ void l1_distances(
    const float *rows, const float *columns, float *out, int n, int m, int n_features, int stride)
{
    __shared__ float a[STEP][TILE], b[STEP][TILE];
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    const long long first_row = (long long)blockIdx.y * TILE, first_column = (long long)blockIdx.x * TILE;
    float sums[EACH][EACH] = {};

    for (int start = 0; start < n_features; start += STEP) {
        for (int k = thread; k < STEP * TILE; k += 256) {
            const int r = k / STEP, f = start + k % STEP;
            const bool is_there = first_row + r < n && f < n_features;
            a[k % STEP][r] = is_there ? rows[(first_row + r) * n_features + f] : 0.0f;
        }
        for (int k = thread; k < STEP * TILE; k += 256) {
            const int c = k % TILE, f = start + k / TILE;
            const bool is_there = first_column + c < m && f < n_features;
            b[k / TILE][c] = is_there ? columns[(long long)f * stride + first_column + c] : 0.0f;
        }
        __syncthreads();
        #pragma unroll
        for (int f = 0; f < STEP; ++f) {
            float x[EACH], z[EACH];
            #pragma unroll
            for (int i = 0; i < EACH; ++i) {
                x[i] = a[f][i * 16 + threadIdx.y];
                z[i] = b[f][i * 16 + threadIdx.x];
            }
            #pragma unroll
            for (int i = 0; i < EACH; ++i)
                #pragma unroll
                for (int j = 0; j < EACH; ++j)
                    sums[i][j] += fabsf(x[i] - z[j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; ++i) {
        const long long r = first_row + i * 16 + threadIdx.y;
        for (int j = 0; j < EACH; ++j) {
            const long long c = first_column + j * 16 + threadIdx.x;
            if (r < n && c < m)
                out[r * m + c] = sums[i][j];
        }
    }
}
"""


def l1_on_gpu(torch: Any, rows: Any, columns: Any) -> Any:
    """``out[i, j] = sum_f |rows[i, f] - columns[f, j]|`` for tensors in float32."""
    kernel = _compiled(torch)
    if kernel is None:
        return _feature_by_feature(torch, rows, columns)
    rows, columns = rows.contiguous(), columns if columns.stride(1) == 1 else columns.contiguous()
    n, m = rows.shape[0], columns.shape[1]
    out = torch.empty((n, m), dtype=torch.float32, device=rows.device)
    if n and m:
        with torch.cuda.device(rows.device):
            grid = (-(-m // _TILE), -(-n // _TILE), 1)
            arguments = [rows, columns, out, n, m, rows.shape[1], columns.stride(0)]
            kernel(grid=grid, block=(_THREADS, _THREADS, 1), args=arguments)
    return out


@cache
def _compiled(torch: Any) -> Any:
    """The kernel; None where PyTorch cannot compile it."""
    try:
        return torch.cuda._compile_kernel(_SOURCE, "l1_distances")
    except (AttributeError, RuntimeError, OSError, ImportError):
        return None


def _feature_by_feature(torch: Any, rows: Any, columns: Any) -> Any:
    out = torch.zeros((rows.shape[0], columns.shape[1]), dtype=torch.float32, device=rows.device)
    for f in range(rows.shape[1]):
        out += (rows[:, f, None] - columns[f]).abs_()
    return out
