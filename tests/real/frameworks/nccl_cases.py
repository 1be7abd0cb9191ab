"""NCCL by CuPy: two ranks, each a process with a device of its own. They need one daemon with two devices."""
import multiprocessing

import cupy
import numpy as np
from cupy.cuda import nccl

from case import case, main

RANKS = 2
FEW, MANY = 1000, 1 << 20  # by the protocols that NCCL takes for short and for long messages


def values(rank, count):
    return ((np.arange(count) * 7 + rank * 13) % 101).astype(np.float32)


def all_reduce(ranks, rank, given, got, count):
    ranks.allReduce(given.data.ptr, got.data.ptr, count, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, 0)
    return sum(values(r, count) for r in range(RANKS))


def broadcast(ranks, rank, given, got, count):
    ranks.broadcast(given.data.ptr, got.data.ptr, count, nccl.NCCL_FLOAT32, 1, 0)
    return values(1, count)


def all_gather(ranks, rank, given, got, count):
    ranks.allGather(given.data.ptr, got.data.ptr, count, nccl.NCCL_FLOAT32, 0)
    return np.concatenate([values(r, count) for r in range(RANKS)])


def reduce_scatter(ranks, rank, given, got, count):
    part = count // RANKS
    ranks.reduceScatter(given.data.ptr, got.data.ptr, part, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, 0)
    return sum(values(r, count) for r in range(RANKS))[rank * part:(rank + 1) * part]


def send_and_receive(ranks, rank, given, got, count):
    other = (rank + 1) % RANKS
    nccl.groupStart()
    ranks.send(given.data.ptr, count, nccl.NCCL_FLOAT32, other, 0)
    ranks.recv(got.data.ptr, count, nccl.NCCL_FLOAT32, other, 0)
    nccl.groupEnd()
    return values(other, count)


def rank_of(identity, rank, operation, count, answers):
    with cupy.cuda.Device(rank):
        ranks = nccl.NcclCommunicator(RANKS, identity, rank)
        given = cupy.ndarray(count, np.float32)
        given.set(values(rank, count))
        got = cupy.ndarray(RANKS * count, np.float32)
        expected = operation(ranks, rank, given, got, count)
        cupy.cuda.Device(rank).synchronize()
        answers.put(bool((got.get()[:len(expected)] == expected).all()))
        ranks.destroy()


def agree(operation, count):
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    identity = nccl.get_unique_id()
    ranks = [context.Process(target=rank_of, args=(identity, rank, operation, count, answers)) for rank in range(RANKS)]
    for process in ranks:
        process.start()
    right = [answers.get(timeout=500) for _ in ranks]
    for process in ranks:
        process.join()
    assert all(right), right


@case
def all_reduce_of_few():
    agree(all_reduce, FEW)


@case
def all_reduce_of_many():
    agree(all_reduce, MANY)


@case
def broadcast_of_few():
    agree(broadcast, FEW)


@case
def all_gather_of_few():
    agree(all_gather, FEW)


@case
def reduce_scatter_of_few():
    agree(reduce_scatter, FEW)


@case
def send_and_receive_of_few():
    agree(send_and_receive, FEW)


@case
def send_and_receive_of_many():
    agree(send_and_receive, MANY)


if __name__ == "__main__":
    version = nccl.get_version()
    main("NCCL", f"{version // 10000}.{version // 100 % 100}.{version % 100}")
