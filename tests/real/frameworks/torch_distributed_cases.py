"""torch.distributed: two ranks, each a process with a device of its own. They need one daemon with two devices.

PyTorch's own kernels have no PTX, so values are made on the host and copied; NCCL's have.
"""
import datetime
import os
import tempfile

import torch
import torch.distributed as distributed
import torch.multiprocessing as multiprocessing

from case import case, main
from torch_tensors import assert_same, to_device

RANKS = 2
FEW, MANY = 1000, 1 << 20  # by the protocols that NCCL takes for short and for long messages


def values(rank, count):
    return ((torch.arange(count) * 7 + rank * 13) % 101).float()


def all_reduce(rank, count):
    tensor = to_device(values(rank, count))
    distributed.all_reduce(tensor)
    assert_same(tensor, sum(values(r, count) for r in range(RANKS)))


def broadcast(rank, count):
    tensor = to_device(values(rank, count))
    distributed.broadcast(tensor, 1)
    assert_same(tensor, values(1, count))


def all_gather(rank, count):
    parts = [torch.empty(count, device="cuda") for _ in range(RANKS)]
    distributed.all_gather(parts, to_device(values(rank, count)))
    for r, part in enumerate(parts):
        assert_same(part, values(r, count))


def all_gather_in_one(rank, count):
    whole = torch.empty(RANKS * count, device="cuda")
    distributed.all_gather_into_tensor(whole, to_device(values(rank, count)))
    assert_same(whole, torch.cat([values(r, count) for r in range(RANKS)]))


def reduce_scatter(rank, count):
    part = torch.empty(count, device="cuda")
    distributed.reduce_scatter_tensor(part, to_device(values(rank, RANKS * count)))
    assert_same(part, sum(values(r, RANKS * count) for r in range(RANKS))[rank * count:(rank + 1) * count])


def send_and_receive(rank, count):
    tensor = to_device(values(rank, count)) if rank == 0 else torch.empty(count, device="cuda")
    if rank == 0:
        distributed.send(tensor, 1)
    else:
        distributed.recv(tensor, 0)
    assert_same(tensor, values(0, count))


def exchange(rank, count):
    given, got = to_device(values(rank, count)), torch.empty(count, device="cuda")
    other = 1 - rank
    works = distributed.batch_isend_irecv([distributed.P2POp(distributed.isend, given, other),
                                           distributed.P2POp(distributed.irecv, got, other)])
    for work in works:
        work.wait()
    assert_same(got, values(other, count))


def barrier(*_):
    for _ in range(3):
        distributed.barrier()


def rank_of(rank, backend, operation, count, meeting):
    torch.cuda.set_device(rank)
    settings = {"device_id": torch.device("cuda", rank)} if backend == "nccl" else {}
    distributed.init_process_group(backend, init_method=f"file://{meeting}", rank=rank, world_size=RANKS,
                                   timeout=datetime.timedelta(seconds=500), **settings)
    operation(rank, count)
    distributed.destroy_process_group()


def agree(backend, operation, count):
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(rank_of, (backend, operation, count, os.path.join(folder, "meeting")), nprocs=RANKS)


def add(backend, operation, count, suffix=""):
    def run():
        agree(backend, operation, count)
    run.__name__ = f"{backend}_{operation.__name__}{suffix}"
    case(run)


for of_gloo in (all_reduce, broadcast, all_gather, send_and_receive):
    add("gloo", of_gloo, FEW, "_of_few")
    add("gloo", of_gloo, MANY, "_of_many")
for of_nccl in (all_reduce, broadcast, all_gather, all_gather_in_one, reduce_scatter, send_and_receive, exchange):
    add("nccl", of_nccl, FEW, "_of_few")
for of_nccl in (all_reduce, broadcast, exchange):
    add("nccl", of_nccl, MANY, "_of_many")
add("nccl", barrier, FEW)


if __name__ == "__main__":
    main("torch.distributed", torch.__version__.split("+")[0])
