"""torch.multiprocessing: processes hand each other tensors in device memory. They need one daemon.

PyTorch's own kernels have no PTX, so values are made on the host and copied.
"""
import torch
import torch.multiprocessing as multiprocessing

from case import case, main
from torch_tensors import assert_same, to_device

SIZES = (1, 1000, (1 << 18) + 3, 5 << 20)  # of the allocator's small and large blocks, and one of its own
WAIT_S = 120


def ramp(count, first=0):
    return (torch.arange(count) % 8191 + first).float()


class Peer:
    """A process that runs function(its inbox, its outbox, ...). Python keeps the queues' ends apart: one each way."""

    def __init__(self, function, *arguments):
        context = multiprocessing.get_context("spawn")
        self.inbox, self.outbox = context.Queue(), context.Queue()
        self.process = context.Process(target=function, args=(self.inbox, self.outbox, *arguments))
        self.process.start()

    def give(self, value):
        self.inbox.put(value)

    def take(self):
        return self.outbox.get(timeout=WAIT_S)

    def end(self):
        self.process.join(WAIT_S)
        assert self.process.exitcode == 0, self.process.exitcode


def answer_on_host(inbox, outbox):
    """Says what it finds in each tensor, and adds 1 to all of it."""
    for tensor in iter(inbox.get, None):
        found = tensor.cpu()
        tensor.copy_(found + 1)
        torch.cuda.synchronize()
        outbox.put(found)
        del tensor


def make(inbox, outbox):
    """Makes a tensor of each size that is asked for, and keeps them all until it is told to end."""
    kept = []
    for count in iter(inbox.get, None):
        kept.append(to_device(ramp(count, first=count % 5)))
        outbox.put(kept[-1])


def make_and_end(_, outbox, count):
    outbox.put(to_device(ramp(count)))  # multiprocessing's queue is written before the process ends


@case
def tensors_go_to_another_process():
    peer = Peer(answer_on_host)
    for count in SIZES:
        tensor = to_device(ramp(count))
        peer.give(tensor)
        assert torch.equal(peer.take(), ramp(count)), count
        assert_same(tensor, ramp(count) + 1)
    peer.give(None)
    peer.end()


@case
def tensors_come_from_another_process():
    peer = Peer(make)
    for count in SIZES:
        peer.give(count)
        tensor = peer.take()
        assert_same(tensor, ramp(count, first=count % 5))
        del tensor
    peer.give(None)
    peer.end()


@case
def tensors_that_share_an_allocation():
    """Small ones lie in one block of the allocator, of which the other process opens one handle."""
    peer = Peer(answer_on_host)
    tensors = [to_device(ramp(100, first=i)) for i in range(20)]
    for i, tensor in enumerate(tensors):
        peer.give(tensor)
        assert torch.equal(peer.take(), ramp(100, first=i)), i
    for i, tensor in enumerate(tensors):
        assert_same(tensor, ramp(100, first=i) + 1)
    peer.give(None)
    peer.end()


@case
def views_with_offsets():
    peer = Peer(answer_on_host)
    whole = to_device(ramp(1 << 20))
    expected = ramp(1 << 20)
    for begin, end in ((0, 7), (1000, 1003), (3, 1 << 19), ((1 << 20) - 1, 1 << 20)):
        peer.give(whole[begin:end])
        assert torch.equal(peer.take(), expected[begin:end]), (begin, end)
        expected[begin:end] += 1
        assert_same(whole, expected)
    peer.give(None)
    peer.end()


@case
def a_tensor_given_again_while_it_is_held():
    """The other process finds the allocation open already."""
    peer = Peer(answer_on_host)
    tensor = to_device(ramp(5000))
    for round in range(5):
        peer.give(tensor)
        assert torch.equal(peer.take(), ramp(5000) + round), round
    peer.give(None)
    peer.end()


@case
def a_block_that_the_allocator_uses_again():
    """When the other process has let a tensor go, its block comes back and is given with other values."""
    peer = Peer(answer_on_host)
    for round in range(30):
        tensor = to_device(ramp(3 << 20, first=round))
        peer.give(tensor)
        assert torch.equal(peer.take(), ramp(3 << 20, first=round)), round
        del tensor
        torch.cuda.ipc_collect()
    assert torch.cuda.memory_reserved() <= 20 * (12 << 20), torch.cuda.memory_reserved()
    peer.give(None)
    peer.end()


@case
def a_producer_that_ends_first():
    """What it has given stays for as long as it is held."""
    peer = Peer(make_and_end, 1 << 20)
    tensor = peer.take()
    peer.end()
    assert_same(tensor, ramp(1 << 20))
    tensor.copy_(ramp(1 << 20, first=9))
    assert_same(tensor, ramp(1 << 20, first=9))


@case
def a_producer_that_is_killed():
    peer = Peer(make)
    peer.give(1 << 20)
    tensor = peer.take()
    peer.process.kill()
    peer.process.join(WAIT_S)
    assert_same(tensor, ramp(1 << 20, first=(1 << 20) % 5))
    del tensor
    other = to_device(ramp(1000))  # nobody else is disturbed
    assert_same(other, ramp(1000))


@case
def work_that_is_still_queued():
    """The event that goes with a tensor makes the other process wait for the copies into it."""
    peer = Peer(answer_on_host)
    first, last = ramp(8 << 20), ramp(8 << 20, first=3)
    staged = [host.pin_memory() for host in (first, last)]
    tensor = torch.empty(8 << 20, device="cuda")
    for host in staged * 5:
        tensor.copy_(host, non_blocking=True)
    peer.give(tensor)
    assert torch.equal(peer.take(), last)
    peer.give(None)
    peer.end()


if __name__ == "__main__":
    main("PyTorch, several processes", torch.__version__.split("+")[0])
