"""torch.compile: models that Inductor turns into Triton kernels, with products by the cuBLAS that `tutti run` puts in front.

PyTorch's own kernels have no PTX, so weights and inputs are made on the host, and results compared with eager mode there.
"""
import copy
import multiprocessing

import torch
import torch._inductor.config
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from case import case, main
from torch_tensors import to_device

# Folding computes what is constant, such as a causal mask, with PyTorch's own kernels.
torch._inductor.config.joint_graph_constant_folding = False
torch.manual_seed(1)
PROCESSES = 8


def moved(module):
    """A copy in device memory; `module.cuda()` would do the same, tensor by tensor."""
    there = copy.deepcopy(module)
    for owner in there.modules():
        for name, parameter in owner.named_parameters(recurse=False):
            setattr(owner, name, nn.Parameter(to_device(parameter.detach()), requires_grad=False))
        for name, buffer in owner.named_buffers(recurse=False):
            setattr(owner, name, to_device(buffer))
    return there.eval()


def compiles(module, *inputs, tolerance=1e-4):
    module.eval()
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        expected = module(*inputs)
        compiled = torch.compile(moved(module), fullgraph=True)
        result = compiled(*(to_device(value) for value in inputs)).cpu()
    torch.testing.assert_close(result, expected, rtol=tolerance, atol=tolerance)


class Elementwise(nn.Module):
    def forward(self, x, y):
        return torch.where(x > 0, x * torch.sigmoid(y), torch.exp(-x * x)) + y.abs().sqrt()


class Reductions(nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1).amax(1) + x.sum(1) + x.var(1) + x.argmax(1)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.into, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.into(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class Transformer(nn.Module):
    def __init__(self, tokens=64, width=64, heads=4, blocks=2):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.head = nn.Linear(width, tokens)

    def forward(self, tokens):
        return self.head(self.blocks(self.embedding(tokens)))


class Convolution(nn.Module):
    """By unfolding, as a product: cuDNN's kernels are machine code."""

    def __init__(self, channels, filters):
        super().__init__()
        self.filters = nn.Parameter(torch.randn(filters, channels * 9) / 8)
        self.norm = nn.BatchNorm2d(filters)

    def forward(self, x):
        batch, _, height, width = x.shape
        product = self.filters @ functional.unfold(x, 3, padding=1)
        return functional.relu(self.norm(product.view(batch, -1, height, width)))


def tokens(seed=3):
    return torch.randint(0, 64, (2, 32), generator=torch.Generator().manual_seed(seed))


@case
def elementwise():
    compiles(Elementwise(), torch.randn(100, 77), torch.randn(100, 77))


@case
def reductions():
    compiles(Reductions(), torch.randn(50, 300))


@case
def a_long_reduction():
    compiles(Reductions(), torch.randn(2, 20000), tolerance=1e-3)


@case
def layer_norm_and_gelu():
    compiles(nn.Sequential(nn.LayerNorm(100), nn.GELU()), torch.randn(40, 100))


@case
def products():
    compiles(nn.Sequential(nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 7)), torch.randn(33, 100))


@case
def attention():
    compiles(Attention(64, 4), torch.randn(2, 50, 64))


@case
def transformer():
    compiles(Transformer(), tokens(), tolerance=1e-3)


@case
def convolution():
    compiles(Convolution(3, 16), torch.randn(2, 3, 20, 20))


@case
def indexing():
    class Rows(nn.Module):
        def forward(self, x, rows):
            return x[rows].cumsum(0) + x.roll(3, 1)[: rows.shape[0]]
    compiles(Rows(), torch.randn(60, 40), torch.randint(0, 60, (30,)), tolerance=1e-3)


def infer(seed, results):
    try:
        torch.manual_seed(1)
        compiles(Transformer(), tokens(seed), tolerance=1e-3)
        results.put("right")
    except Exception as error:  # whatever it is, is the answer
        results.put(f"{type(error).__name__}: {error}")


@case
def eight_processes_of_inference():
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [context.Process(target=infer, args=(seed, results)) for seed in range(PROCESSES)]
    for process in processes:
        process.start()
    answers = [results.get(timeout=500) for _ in processes]
    for process in processes:
        process.join()
    assert answers == ["right"] * PROCESSES, answers


if __name__ == "__main__":
    main("torch.compile", torch.__version__.split("+")[0])
