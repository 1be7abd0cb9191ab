"""Triton: kernels as its tutorials' readers write them, on tensors of PyTorch that come from the host."""
import torch
import triton
import triton.language as tl

from case import case, main


def to_device(*shape, dtype=torch.float32, seed=0):
    """A random tensor on the host, and a copy of it on the device: PyTorch's own kernels are machine code."""
    host = torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)
    return host, host.cuda()


def result(*shape, dtype=torch.float32):
    return torch.zeros(*shape, dtype=dtype).cuda()


def close(ours, theirs, tolerance=1e-4):
    torch.testing.assert_close(ours.cpu().float(), theirs.float(), rtol=tolerance, atol=tolerance)


@triton.jit
def add_kernel(a, b, c, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(c + at, tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)


@case
def vector_add():
    (a, da), (b, db), out = to_device(10000), to_device(10000, seed=1), result(10000)
    add_kernel[(triton.cdiv(10000, 1024),)](da, db, out, 10000, BLOCK=1024)
    close(out, a + b)


@triton.jit
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@case
def softmax():
    (x, dx), out = to_device(100, 781), result(100, 781)
    softmax_kernel[(100,)](dx, out, 781, BLOCK=1024)
    close(out, torch.softmax(x, 1))


@triton.jit
def layer_norm_kernel(x, weight, bias, y, columns, epsilon, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < columns
    row = tl.program_id(0) * columns
    values = tl.load(x + row + at, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    from_mean = tl.where(inside, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(from_mean * from_mean, axis=0) / columns + epsilon)
    shown = from_mean * scale * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(y + row + at, shown, mask=inside)


@case
def layer_norm():
    (x, dx), (w, dw), (b, db), out = to_device(50, 300), to_device(300, seed=1), to_device(300, seed=2), result(50, 300)
    layer_norm_kernel[(50,)](dx, dw, db, out, 300, 1e-5, BLOCK=512)
    close(out, torch.nn.functional.layer_norm(x, (300,), w, b, 1e-5))


@triton.jit
def matmul_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, k, BK):
        left = tl.load(a + rows[:, None] * k + first + inner[None, :],
                       mask=(rows[:, None] < m) & (first + inner[None, :] < k), other=0.0)
        right = tl.load(b + (first + inner[:, None]) * n + columns[None, :],
                        mask=(first + inner[:, None] < k) & (columns[None, :] < n), other=0.0)
        sums = tl.dot(left, right, sums)
    tl.store(c + rows[:, None] * n + columns[None, :], sums, mask=(rows[:, None] < m) & (columns[None, :] < n))


def multiplies(dtype, tolerance):
    (a, da), (b, db), out = to_device(130, 100, dtype=dtype), to_device(100, 70, dtype=dtype, seed=1), result(130, 70)
    matmul_kernel[(triton.cdiv(130, 64), triton.cdiv(70, 64))](da, db, out, 130, 70, 100, BM=64, BN=64, BK=32)
    close(out, a.float() @ b.float(), tolerance)


@case
def matmul_f16():
    multiplies(torch.float16, 1e-2)


@case
def matmul_bf16():
    multiplies(torch.bfloat16, 1e-2)


@case
def matmul_tf32():
    multiplies(torch.float32, 5e-2)


@triton.jit
def attention_kernel(q, k, v, out, length, scale, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    width = tl.arange(0, WIDTH)
    start = tl.program_id(1) * length * WIDTH
    query = tl.load(q + start + rows[:, None] * WIDTH + width[None, :])
    highest = tl.full((BLOCK,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    sums = tl.zeros((BLOCK, WIDTH), dtype=tl.float32)
    for first in range(0, length, BLOCK):
        at = first + tl.arange(0, BLOCK)
        keys = tl.load(k + start + at[None, :] * WIDTH + width[:, None])
        values = tl.load(v + start + at[:, None] * WIDTH + width[None, :])
        scores = tl.dot(query, keys) * scale
        higher = tl.maximum(highest, tl.max(scores, 1))
        powers = tl.exp(scores - higher[:, None])
        shrink = tl.exp(highest - higher)
        total = total * shrink + tl.sum(powers, 1)
        sums = tl.dot(powers.to(values.dtype), values, sums * shrink[:, None])
        highest = higher
    tl.store(out + start + rows[:, None] * WIDTH + width[None, :], sums / total[:, None])


@case
def attention():
    shape = (4, 128, 64)
    (q, dq), (k, dk), (v, dv) = (to_device(*shape, dtype=torch.float16, seed=seed) for seed in range(3))
    out = result(*shape)
    attention_kernel[(2, 4)](dq, dk, dv, out, 128, 0.125, BLOCK=64, WIDTH=64)
    close(out, torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float()), 1e-2)


@triton.jit
def dropout_kernel(x, y, n, keep, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, at) < keep
    tl.store(y + at, tl.where(kept, tl.load(x + at, mask=at < n), 0.0), mask=at < n)


@case
def random_numbers():
    ones, out = torch.ones(100000).cuda(), result(100000)
    dropout_kernel[(triton.cdiv(100000, 1024),)](ones, out, 100000, 0.7, 123, BLOCK=1024)
    assert abs(out.cpu().mean().item() - 0.7) < 0.01


@triton.jit
def histogram_kernel(x, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(x + at, mask=at < n), 1, mask=at < n)


@case
def atomics():
    x = torch.randint(0, 16, (5000,), generator=torch.Generator().manual_seed(5))
    counts = torch.zeros(16, dtype=torch.int32).cuda()
    histogram_kernel[(triton.cdiv(5000, 256),)](x.to(torch.int32).cuda(), counts, 5000, BLOCK=256)
    assert counts.cpu().tolist() == torch.bincount(x, minlength=16).tolist()


@triton.jit
def scan_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.cumsum(tl.load(x + at, mask=at < n, other=0.0), 0), mask=at < n)


@case
def scan():
    (x, dx), out = to_device(1000), result(1000)
    scan_kernel[(1,)](dx, out, 1000, BLOCK=1024)
    close(out, x.cumsum(0), 1e-3)


if __name__ == "__main__":
    main("Triton", triton.__version__)
