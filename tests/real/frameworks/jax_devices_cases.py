"""JAX on two devices of one process: copies, functions mapped over them, and sums between them (NCCL)."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from case import case, main


@case
def copies_between_devices():
    x = np.arange(1000, dtype=np.float32)
    first, second = jax.devices("cuda")
    there = jax.device_put(jax.device_put(x, first) * 2, second)
    assert there.device == second
    np.testing.assert_array_equal(np.asarray(there + 1), 2 * x + 1)


@case
def pmap():
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_allclose(np.asarray(jax.pmap(lambda x: x * 2 + jnp.sin(x))(x)), x * 2 + np.sin(x), rtol=1e-5)


@case
def sums_between_devices():
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    sums = jax.pmap(functools.partial(jax.lax.psum, axis_name="devices"), axis_name="devices")(x)
    np.testing.assert_array_equal(np.asarray(sums), np.stack([x.sum(0)] * 2))


@case
def product_of_a_sharded_matrix():
    """The rows of one factor are on both devices; nothing is sent."""
    rows = NamedSharding(Mesh(np.array(jax.devices("cuda")), ("rows",)), PartitionSpec("rows"))
    a, b = np.random.default_rng(0).standard_normal((2, 64, 64)).astype(np.float32)
    product = jax.jit(functools.partial(jnp.matmul, precision="highest"))(jax.device_put(a, rows), b)
    assert len(product.sharding.device_set) == 2
    np.testing.assert_allclose(np.asarray(product), a @ b, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    main("JAX, two devices", jax.__version__)
