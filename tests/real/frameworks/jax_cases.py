"""JAX: what XLA compiles for the device, with results of the processor's backend, of NumPy or of SciPy beside it."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jax import lax

from case import case, main

jax.config.update("jax_default_matmul_precision", "highest")  # or f32 is multiplied as TF32, on devices alone


def random(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def host(function, *inputs):
    """What the processor's backend of JAX makes of it."""
    with jax.default_device(jax.devices("cpu")[0]):
        return jax.tree.map(np.asarray, jax.jit(function)(*inputs))


def device(function, *inputs):
    """What the device makes of it; it is one of CUDA, or nothing here says anything."""
    ours = jax.jit(function)(*jax.device_put(inputs, jax.devices("cuda")[0]))
    assert all(array.device.platform == "gpu" for array in jax.tree.leaves(ours))
    return jax.tree.map(np.asarray, ours)


def close(ours, theirs, tolerance=1e-5):
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        if one.dtype == jnp.bfloat16:
            one, other = one.astype(np.float32), other.astype(np.float32)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def same(function, *inputs, tolerance=1e-5):
    close(device(function, *inputs), host(function, *inputs), tolerance)


@case
def pointwise():
    x = random(1000, 30)
    close(device(lambda x: jnp.tanh(x) * jnp.sin(x) + jnp.exp(-x * x) / 2, x),
          np.tanh(x) * np.sin(x) + np.exp(-x * x) / 2)
    close(device(lambda x: jax.nn.gelu(x, approximate=False), x), x * (1 + scipy.special.erf(x / np.sqrt(2))) / 2)
    same(lambda x: (jnp.log1p(jnp.abs(x)), jnp.arctan2(x, x + 1), jnp.power(jnp.abs(x), 0.3), jnp.cbrt(x)), x)


@case
def integers_and_bits():
    x = np.random.default_rng(1).integers(-1000, 1000, (500, 7), dtype=np.int32)
    same(lambda x: (x // 7, x % 7, x >> 2, x ^ 0x55, lax.population_count(x), lax.clz(x), x.astype(jnp.int8), x > 3), x)


@case
def doubles_and_complex():
    jax.config.update("jax_enable_x64", True)
    x = random(300, 40, dtype=np.float64)
    same(lambda x: (jnp.exp(x), jnp.sin(x), jnp.sum(x), jnp.linalg.norm(x, axis=0)), x, tolerance=1e-12)
    z = x + 1j * x[::-1]
    close(device(lambda z: jnp.exp(z) * jnp.conj(z), z), np.exp(z) * np.conj(z), 1e-12)


@case
def reductions():
    x = random(257, 1031)
    close(device(lambda x: (x.sum(), x.sum(0), x.mean(1), x.max(0), x.min(), x.std(1), x.argmax(1)), x),
          (x.sum(), x.sum(0), x.mean(1), x.max(0), x.min(), x.std(1), x.argmax(1)), 2e-4)
    same(lambda x: (jnp.prod(x[:, :9], 1), jnp.any(x > 3, 1), jax.nn.logsumexp(x, 1), jnp.median(x[:, :33], 1)), x)


@case
def softmax():
    x = random(100, 781)
    close(device(functools.partial(jax.nn.softmax, axis=1), x), scipy.special.softmax(x, axis=1))


@case
def layer_norm_and_its_gradient():
    def loss(x, scale):
        centred = x - x.mean(-1, keepdims=True)
        return jnp.sum(jnp.sin(centred * lax.rsqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * scale))
    same(jax.value_and_grad(loss, (0, 1)), random(60, 300), random(300, seed=1), tolerance=1e-3)


def multiplies(dtype, tolerance):
    a, b = random(130, 100).astype(dtype), random(100, 70, seed=1).astype(dtype)
    close(device(jnp.matmul, a, b), (a.astype(np.float64) @ b.astype(np.float64)).astype(dtype), tolerance)
    many, more = random(4, 60, 33).astype(dtype), random(4, 33, 20, seed=2).astype(dtype)
    theirs = np.einsum("bij,bjk->bik", many.astype(np.float64), more.astype(np.float64))
    close(device(lambda a, b: jnp.einsum("bij,bjk->bik", a, b), many, more), theirs.astype(dtype), tolerance)


@case
def matmul_f32():
    multiplies(np.float32, 1e-4)


@case
def matmul_tf32():
    jax.config.update("jax_default_matmul_precision", "default")
    multiplies(np.float32, 5e-2)


@case
def matmul_bf16():
    multiplies(jnp.bfloat16, 2e-2)


@case
def matmul_f16():
    multiplies(np.float16, 1e-2)


@case
def matmul_f64():
    jax.config.update("jax_enable_x64", True)
    multiplies(np.float64, 1e-12)


@case
def matmul_of_integers():
    a, b = (np.random.default_rng(seed).integers(-9, 9, (64, 64), dtype=np.int8) for seed in (1, 2))
    ours = device(functools.partial(lax.dot, preferred_element_type=jnp.int32), a, b)
    np.testing.assert_array_equal(ours, a.astype(np.int32) @ b.astype(np.int32))


@case
def matmul_with_an_epilogue():
    """XLA fuses the product with what is around it, for Triton or cuBLASLt."""
    def layer(x, weight, bias):
        return jax.nn.relu(x.astype(jnp.bfloat16) @ weight + bias)
    weight, bias = random(128, 256, seed=1).astype(jnp.bfloat16), random(256, seed=2).astype(jnp.bfloat16)
    same(layer, random(256, 128), weight, bias, tolerance=1e-1)


@case
def matrix_by_vector():
    same(jnp.dot, random(300, 500), random(500, seed=1), tolerance=1e-4)


@case
def convolution():
    image, kernel = random(2, 3, 20, 20), random(4, 3, 3, 3, seed=1)
    same(lambda x, k: lax.conv(x, k, (1, 1), "SAME"), image, kernel, tolerance=1e-4)


@case
def gradient_of_a_convolution():
    def loss(image, kernel):
        return jnp.sum(jnp.sin(lax.conv(image, kernel, (2, 2), "SAME")))
    same(jax.grad(loss, (0, 1)), random(2, 3, 20, 20), random(4, 3, 3, 3, seed=1), tolerance=1e-3)


@case
def pooling():
    same(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"), random(2, 3, 20, 20))

    def loss(x):
        return jnp.sum(lax.reduce_window(x, -jnp.inf, lax.max, (3, 3), (2, 2), "SAME") ** 2)
    same(jax.grad(loss), random(30, 30))


@case
def random_numbers():
    def draw(key):
        keys = jax.random.split(key, 4)
        return (jax.random.bits(keys[0], (1001,)), jax.random.uniform(keys[1], (50, 50)),
                jax.random.normal(keys[2], (1000,)), jax.random.permutation(keys[3], 500))
    same(draw, jax.random.PRNGKey(42))


@case
def random_numbers_of_other_distributions():
    def draw(key):
        keys = jax.random.split(key, 4)
        return (jax.random.categorical(keys[0], jnp.zeros((20, 10))), jax.random.gamma(keys[1], 2.0, (50,)),
                jax.random.bernoulli(keys[2], 0.3, (100,)), jax.random.truncated_normal(keys[3], -1, 1, (100,)))
    same(draw, jax.random.PRNGKey(7), tolerance=1e-4)


@case
def scan():
    def step(carry, x):
        carry = jnp.tanh(carry * 0.9 + x)
        return carry, carry * 2
    same(lambda x: lax.scan(step, jnp.zeros(20), x), random(50, 20))


@case
def while_loop():
    def collatz(n):
        def step(state):
            n, steps = state
            return jnp.where(n % 2, 3 * n + 1, n // 2), steps + 1
        return lax.while_loop(lambda state: state[0] > 1, step, (n, 0))
    assert int(device(collatz, np.int32(27))[1]) == 111
    same(lambda x: lax.fori_loop(0, 30, lambda i, y: y * 0.9 + jnp.sin(x) * i, x), random(100))


@case
def branches():
    def choose(which, x):
        return lax.switch(which, [jnp.sin, lambda x: jnp.cumsum(x, axis=1), lambda x: x @ x], x)
    for which in range(3):
        same(choose, np.int32(which), random(30, 30), tolerance=1e-4)
    same(lambda above, x: lax.cond(above, lambda x: x * 2, lambda x: x - 1, x), np.bool_(True), random(30))


@case
def vmap():
    def distance(a, b):
        return jnp.sqrt(jnp.sum((a - b) ** 2))
    every = jax.vmap(jax.vmap(distance, (None, 0)), (0, None))
    a, b = random(40, 8), random(50, 8, seed=1)
    close(device(every, a, b), np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1)), 1e-4)


@case
def derivatives():
    def energy(x):
        return jnp.sum(jnp.sin(x) * x ** 2)
    same(lambda x: (jax.grad(energy)(x), jax.hessian(energy)(x), jax.jvp(energy, (x,), (x,))), random(30),
         tolerance=1e-4)


@case
def sort():
    x = random(20, 1000)
    close(device(lambda x: jnp.sort(x, axis=1), x), np.sort(x, axis=1), 0)
    np.testing.assert_array_equal(device(jnp.argsort, x[0]), np.argsort(x[0], kind="stable"))
    keys = np.random.default_rng(1).permutation(5000).astype(np.int32)
    same(lambda keys, x: lax.sort((keys, x), num_keys=1), keys, random(5000))


@case
def sort_of_many():
    x = random(100000)
    close(device(jnp.sort, x), np.sort(x), 0)


@case
def top_k():
    same(lambda x: lax.top_k(x, 5), random(30, 2000))


@case
def cumsum():
    x = random(30, 1000)
    close(device(lambda x: jnp.cumsum(x, axis=1), x), np.cumsum(x, axis=1), 1e-3)
    same(lambda x: (jnp.cumsum(x, 0), lax.cummax(x, 1), jnp.cumprod(x[:, :10], 1)), x, tolerance=1e-3)
    same(lambda x: lax.associative_scan(lambda a, b: a * 0.5 + b, x), random(64), tolerance=1e-3)


@case
def gather_and_scatter():
    x, at = random(100, 20), np.random.default_rng(1).integers(0, 100, 500).astype(np.int32)
    close(device(lambda x, at: x[at], x, at), x[at], 0)
    sums = np.zeros_like(x)
    np.add.at(sums, at, x[at])
    close(device(lambda x, at: jnp.zeros_like(x).at[at].add(x[at]), x, at), sums, 1e-4)
    same(lambda x, at: (jax.ops.segment_sum(x[at], at % 7, 7), x.at[at[:9]].set(1.0), jnp.bincount(at, length=100)),
         x, at, tolerance=1e-4)
    same(lambda x, i: (lax.dynamic_slice(x, (i, i), (5, 5)), lax.dynamic_update_slice(x, x[:3, :3], (i, i))),
         x, np.int32(7))


@case
def layouts():
    x = random(17, 33, 65)
    same(lambda x: (x.transpose(2, 0, 1) + 0, jnp.concatenate([x, x * 2], 1), jnp.pad(x, 2), x[::-1, ::2],
                    jnp.roll(x, 5), jnp.tile(x, (1, 2, 1)), x.reshape(33, -1) * 2), x)


@case
def fft():
    x = random(6, 100)
    close(device(jnp.fft.fft, x), np.fft.fft(x), 1e-4)
    close(device(jnp.fft.rfft2, x), np.fft.rfft2(x), 1e-4)
    close(device(lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), x), x, 1e-4)


@case
def solve():
    a, b = random(20, 20) + 20 * np.eye(20, dtype=np.float32), random(20, 3, seed=1)
    close(device(jnp.linalg.solve, a, b), np.linalg.solve(a, b), 1e-4)
    close(device(jnp.linalg.inv, a), np.linalg.inv(a), 1e-4)
    close(device(jnp.linalg.det, a[:5, :5]), np.linalg.det(a[:5, :5]), 1e-3)


@case
def triangular_solve():
    a, b = np.tril(random(4, 20, 20)) + 20 * np.eye(20, dtype=np.float32), random(4, 20, 3, seed=1)
    same(lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True), a, b, tolerance=1e-4)


@case
def cholesky():
    x = random(20, 20)
    a = x @ x.T + 20 * np.eye(20, dtype=np.float32)
    close(device(jnp.linalg.cholesky, a), np.linalg.cholesky(a), 1e-4)
    close(device(jnp.linalg.cholesky, np.stack([a, 2 * a])), np.linalg.cholesky(np.stack([a, 2 * a])), 1e-4)


@case
def qr():
    x = random(20, 12)
    q, r = device(jnp.linalg.qr, x)
    close(q @ r, x, 1e-4)
    close(q.T @ q, np.eye(12), 1e-4)


@case
def eigh():
    x = random(20, 20)
    a = x + x.T
    values, vectors = device(jnp.linalg.eigh, a)
    close(values, np.linalg.eigvalsh(a), 1e-3)
    close(vectors @ np.diag(values) @ vectors.T, a, 1e-3)


@case
def svd():
    x = random(20, 12)
    u, s, vh = device(functools.partial(jnp.linalg.svd, full_matrices=False), x)
    close(s, np.linalg.svd(x, compute_uv=False), 1e-3)
    close(u * s @ vh, x, 1e-3)


@case
def attention():
    def attend(q, k, v):
        return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(jnp.einsum("hqd,hkd->hqk", q, k) / 8, -1), v)
    q, k, v = (random(4, 128, 64, seed=seed) for seed in range(3))
    same(attend, q, k, v, tolerance=1e-3)
    same(jax.grad(lambda *x: jnp.sum(attend(*x) ** 2), (0, 1, 2)), q, k, v, tolerance=1e-2)


def losses_of_training():
    """Of an MLP that learns to tell two spirals apart, by SGD."""
    def predict(layers, x):
        for weight, bias in layers[:-1]:
            x = jnp.tanh(x @ weight + bias)
        return x @ layers[-1][0] + layers[-1][1]

    @functools.partial(jax.jit, donate_argnums=0)
    def step(layers, x, y):
        def loss(layers):
            return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(predict(layers, x)), y[:, None], 1))
        value, slopes = jax.value_and_grad(loss)(layers)
        return jax.tree.map(lambda weight, slope: weight - 0.5 * slope, layers, slopes), value

    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    sizes = [(2, 64), (64, 64), (64, 2)]
    layers = [(jax.random.normal(key, size) / np.sqrt(size[0]), jnp.zeros(size[1])) for key, size in zip(keys, sizes)]
    turn = np.linspace(0.3, 3, 100)
    spiral = np.stack([turn * np.cos(2 * turn), turn * np.sin(2 * turn)], 1)
    x, y = jnp.asarray(np.concatenate([spiral, -spiral]), jnp.float32), jnp.asarray([0] * 100 + [1] * 100)
    losses = []
    for _ in range(200):
        layers, value = step(layers, x, y)
        losses.append(value)
    return np.array(losses)


@case
def training():
    ours = losses_of_training()
    with jax.default_device(jax.devices("cpu")[0]):
        theirs = losses_of_training()
    assert ours[-1] < 0.3 * ours[0], ours
    close(ours[:50], theirs[:50], 1e-3)
    assert abs(ours[-1] - theirs[-1]) < 0.1, (ours[-1], theirs[-1])


@case
def pallas():
    """A kernel of Pallas, which Triton compiles."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton as pallas_triton

    def kernel(x, y, out):
        out[...] = x[...] * 2 + jnp.exp(y[...])
    blocks = pl.BlockSpec((64,), lambda i: (i,))
    run = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((1024,), np.float32), grid=(16,),
                         in_specs=[blocks, blocks], out_specs=blocks, compiler_params=pallas_triton.CompilerParams())
    x, y = random(1024), random(1024, seed=1)
    close(device(run, x, y), x * 2 + np.exp(y), 1e-5)


@case
def callbacks():
    def twice(x):
        return np.asarray(x) * 2
    x = random(50)
    close(device(lambda x: jax.pure_callback(twice, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1, x), x * 2 + 1)


@case
def copies():
    x = random(1000, 1000)
    there = jax.device_put(x, jax.devices("cuda")[0])
    close(np.asarray(there), x, 0)
    close(np.asarray(jax.device_put(there, jax.devices("cpu")[0])), x, 0)
    statistics = jax.devices("cuda")[0].memory_stats()
    assert statistics["bytes_in_use"] >= x.nbytes, statistics


if __name__ == "__main__":
    main("JAX", jax.__version__)
