"""CuPy: what its users call, beside NumPy."""
import cupy
import numpy as np

from case import case, main

RANDOM = np.random.default_rng(1)


def close(ours, theirs, tolerance=1e-5):
    np.testing.assert_allclose(cupy.asnumpy(ours), theirs, rtol=tolerance, atol=tolerance)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


@case
def arrays():
    a, b = floats(1000), floats(1000)
    close(cupy.asarray(a) * 2 + cupy.asarray(b), a * 2 + b)
    assert cupy.arange(10).reshape(2, 5).T.tolist() == np.arange(10).reshape(2, 5).T.tolist()


@case
def mathematics():
    a = np.abs(floats(1000)) + 0.1
    for name in ("exp", "log", "sin", "cos", "tanh", "sqrt", "arctan"):
        close(getattr(cupy, name)(cupy.asarray(a)), getattr(np, name)(a))


@case
def reductions():
    a = floats(100, 200)
    for name in ("sum", "mean", "max", "min", "argmax", "std"):
        for axis in (None, 0, 1):
            close(getattr(cupy, name)(cupy.asarray(a), axis=axis), getattr(np, name)(a, axis=axis), 1e-4)


@case
def indexing():
    a = floats(50, 60)
    rows = RANDOM.integers(0, 50, 30)
    ours = cupy.asarray(a)
    close(ours[rows], a[rows])
    close(ours[ours > 0].sum(), a[a > 0].sum(), 1e-4)
    close(cupy.where(ours > 0, ours, -ours), np.where(a > 0, a, -a))


@case
def sort():
    a = floats(10000)
    close(cupy.sort(cupy.asarray(a)), np.sort(a))
    close(cupy.argsort(cupy.asarray(a)), np.argsort(a, kind="stable"))
    close(cupy.unique(cupy.asarray(a.round(1))), np.unique(a.round(1)))


@case
def scans():
    a = floats(5000)
    close(cupy.cumsum(cupy.asarray(a)), np.cumsum(a), 1e-2)
    close(cupy.histogram(cupy.asarray(a), bins=20)[0], np.histogram(a, bins=20)[0])


@case
def raw_kernel():
    kernel = cupy.RawKernel(
        "extern \"C\" __global__ void twice(const float* a, float* b, int n)"
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = 2 * a[i]; }", "twice")
    a = floats(1000)
    b = cupy.zeros(1000, cupy.float32)
    kernel((4,), (256,), (cupy.asarray(a), b, np.int32(1000)))
    close(b, 2 * a)


@case
def elementwise_kernel():
    kernel = cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_difference")
    a, b = floats(1000), floats(1000)
    close(kernel(cupy.asarray(a), cupy.asarray(b)), (a - b) ** 2)


@case
def fused():
    @cupy.fuse()
    def both(x, y):
        return cupy.sum(x * y)

    a, b = floats(1000), floats(1000)
    close(both(cupy.asarray(a), cupy.asarray(b)), (a * b).sum(), 1e-3)


@case
def matmul():
    a, b = floats(64, 96), floats(96, 32)
    close(cupy.asarray(a) @ cupy.asarray(b), a @ b, 1e-3)


@case
def matmul_of_doubles():
    a, b = floats(128, 128).astype(np.float64), floats(128, 128).astype(np.float64)
    close(cupy.asarray(a) @ cupy.asarray(b), a @ b)


@case
def fft():
    a = floats(1024)
    close(cupy.fft.fft(cupy.asarray(a)), np.fft.fft(a), 1e-3)


@case
def linalg():
    a = floats(32, 32).astype(np.float64) + 32 * np.eye(32)
    b = floats(32).astype(np.float64)
    close(cupy.linalg.solve(cupy.asarray(a), cupy.asarray(b)), np.linalg.solve(a, b))
    close(cupy.linalg.inv(cupy.asarray(a)), np.linalg.inv(a))


@case
def linalg_decompositions():
    a = floats(32, 32).astype(np.float64)
    s = a @ a.T + np.eye(32)
    close(cupy.linalg.cholesky(cupy.asarray(s)), np.linalg.cholesky(s))
    close(cupy.linalg.svd(cupy.asarray(a), compute_uv=False), np.linalg.svd(a, compute_uv=False))


@case
def random():
    cupy.random.seed(7)
    uniform = cupy.random.rand(100000)
    normal = cupy.random.standard_normal(100000)
    assert 0 <= float(uniform.min()) and float(uniform.max()) < 1 and abs(float(uniform.mean()) - 0.5) < 0.01
    assert abs(float(normal.mean())) < 0.02 and abs(float(normal.std()) - 1) < 0.02
    assert float(cupy.random.default_rng(3).random(1000).std()) > 0.2


@case
def sparse():
    import cupyx.scipy.sparse
    import scipy.sparse
    theirs = scipy.sparse.random(200, 300, 0.05, format="csr", dtype=np.float32, random_state=2)
    x = floats(300)
    ours = cupyx.scipy.sparse.csr_matrix(theirs)
    close(ours @ cupy.asarray(x), theirs @ x, 1e-4)
    close(ours.sum(axis=0), np.asarray(theirs.sum(axis=0)), 1e-4)


@case
def graphs():
    stream = cupy.cuda.Stream(non_blocking=True)
    a = cupy.asarray(floats(1000))
    twice = a * 2  # compiled before it is captured
    with stream:
        stream.begin_capture()
        cupy.multiply(a, 2, out=twice)
        cupy.add(twice, 1, out=twice)
        graph = stream.end_capture()
        twice.fill(0)
        graph.launch(stream)
    stream.synchronize()
    close(twice, cupy.asnumpy(a) * 2 + 1)


@case
def streams_and_events():
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    with cupy.cuda.Stream() as stream:
        begin.record()
        a = cupy.arange(1000000).sum()
        end.record()
        stream.synchronize()
    assert int(a) == 499999500000 and cupy.cuda.get_elapsed_time(begin, end) >= 0


@case
def images():
    import cupyx.scipy.ndimage
    import scipy.ndimage
    a = floats(60, 60)
    close(cupyx.scipy.ndimage.gaussian_filter(cupy.asarray(a), 2), scipy.ndimage.gaussian_filter(a, 2), 1e-3)


if __name__ == "__main__":
    main("CuPy", cupy.__version__)
