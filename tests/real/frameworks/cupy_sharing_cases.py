"""CuPy in several processes that share memory and events. They need one daemon."""
import multiprocessing

import cupy
import numpy as np
from cupy.cuda import runtime

from case import case, main

WORDS = 1 << 20
RAMP = (np.arange(WORDS) % 97).astype(np.float32)


def array_at(pointer):
    memory = cupy.cuda.UnownedMemory(pointer, WORDS * 4, None)
    return cupy.ndarray((WORDS,), dtype=np.float32, memptr=cupy.cuda.MemoryPointer(memory, 0))


def double(handle, answers):
    pointer = runtime.ipcOpenMemHandle(handle)
    array = array_at(pointer)
    found = array.get()
    array *= 2
    cupy.cuda.Device().synchronize()
    runtime.ipcCloseMemHandle(pointer)
    answers.put(bool((found == RAMP).all()))


def wait_and_read(memory_handle, event_handle, answers):
    pointer, event = runtime.ipcOpenMemHandle(memory_handle), runtime.ipcOpenEventHandle(event_handle)
    stream = cupy.cuda.Stream(non_blocking=True)
    runtime.streamWaitEvent(stream.ptr, event)
    with stream:
        found = array_at(pointer) + 1
    stream.synchronize()
    answers.put(bool((found.get() == 6).all()))


def asked(function, *arguments):
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=function, args=(*arguments, answers))
    process.start()
    answer = answers.get(timeout=120)
    process.join()
    return answer


@case
def memory():
    cupy.cuda.set_allocator(None)
    array = cupy.asarray(RAMP)
    assert asked(double, runtime.ipcGetMemHandle(array.data.ptr))
    assert (array.get() == 2 * RAMP).all()


@case
def events():
    cupy.cuda.set_allocator(None)
    array = cupy.zeros(WORDS, dtype=np.float32)
    event = runtime.eventCreateWithFlags(runtime.eventDisableTiming | runtime.eventInterprocess)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for _ in range(5):
            array += 1
    runtime.eventRecord(event, stream.ptr)
    assert asked(wait_and_read, runtime.ipcGetMemHandle(array.data.ptr), runtime.ipcGetEventHandle(event))


if __name__ == "__main__":
    main("CuPy, several processes", cupy.__version__)
