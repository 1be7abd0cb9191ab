"""cuda.core: devices, programs, launches, memory, events and graphs by NVIDIA's Python interface."""
import ctypes
import importlib.metadata

from cuda.core import Device, EventOptions, LaunchConfig, Program, ProgramOptions, launch

from case import case, main

SOURCE = """
extern "C" __global__ void add(const float* a, const float* b, float* c, size_t n) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}
template <typename T> __global__ void fill(T* a, T value, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = value;
}
"""


def device():
    found = Device()
    found.set_current()
    return found


def compiled(on, code_type, names=None):
    options = ProgramOptions(std="c++17", arch=f"sm_{on.arch}")
    return Program(SOURCE, code_type="c++", options=options).compile(code_type, name_expressions=names or ())


def pinned(on, count):
    """Pinned host memory of `count` floats, and a view of it."""
    from cuda.core import LegacyPinnedMemoryResource
    buffer = LegacyPinnedMemoryResource().allocate(4 * count)
    return buffer, (ctypes.c_float * count).from_address(int(buffer.handle))


def adds(on, kernel):
    count = 1000
    stream = on.create_stream()
    memory = on.memory_resource
    (host_a, a), (host_b, b), (host_c, c) = (pinned(on, count) for _ in range(3))
    for i in range(count):
        a[i], b[i] = i, 2 * i
    there = [memory.allocate(4 * count, stream=stream) for _ in range(3)]
    there[0].copy_from(host_a, stream=stream)
    there[1].copy_from(host_b, stream=stream)
    launch(stream, LaunchConfig(grid=4, block=256), kernel, there[0], there[1], there[2], ctypes.c_size_t(count))
    there[2].copy_to(host_c, stream=stream)
    stream.sync()
    assert list(c) == [3.0 * i for i in range(count)]


@case
def properties():
    on = device()
    assert on.properties.multiprocessor_count > 0 and on.compute_capability.major >= 7 and on.name and on.uuid


@case
def machine_code():
    on = device()
    adds(on, compiled(on, "cubin").get_kernel("add"))


@case
def ptx():
    on = device()
    adds(on, compiled(on, "ptx").get_kernel("add"))


@case
def template():
    on = device()
    stream = on.create_stream()
    kernel = compiled(on, "cubin", ("fill<float>",)).get_kernel("fill<float>")
    buffer, values = pinned(on, 100)
    launch(stream, LaunchConfig(grid=1, block=128), kernel, buffer, ctypes.c_float(2.5), ctypes.c_size_t(100))
    stream.sync()
    assert list(values) == [2.5] * 100


@case
def events():
    on = device()
    stream = on.create_stream()
    begin = stream.record(options=EventOptions(timing_enabled=True))
    end = stream.record(options=EventOptions(timing_enabled=True))
    end.sync()
    assert end - begin >= 0 and end.is_done


@case
def occupancy():
    kernel = compiled(device(), "cubin").get_kernel("add")
    assert kernel.attributes.max_threads_per_block >= 256
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(256, 0) > 0


if __name__ == "__main__":
    main("cuda.core", importlib.metadata.version("cuda-core"))
