"""ResNet-50 and DistilBERT as shapes, with random weights: what a process of inference does, for the GPU run to measure.

    torch_work.py serve     talks on descriptor 3: hears "run MODEL BATCH SECONDS", says "done COUNT SECONDS P50_MS P99_MS"
    torch_work.py profile   prints MODEL, launches and kernel name, with tabs between, of one inference of each model

Nothing is loaded from anywhere: the modules are written down here.
"""

import socket
import sys
import time

import torch
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.short = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return torch.relu(self.body(x) + self.short(x))


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            layers.append(Bottleneck(inputs, width, stride if i == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm, self.last = nn.LayerNorm(width), nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (m(x).view(batch, length, self.heads, -1).transpose(1, 2) for m in (self.query, self.key, self.value))
        attended = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, width)
        x = self.norm(x + self.out(attended))
        return self.last(x + self.narrow(nn.functional.gelu(self.wide(x))))


class DistilBert(nn.Module):
    def __init__(self, words=30522, width=768, heads=12, layers=6, length=512):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.Sequential(*(Layer(width, heads) for _ in range(layers)))

    def forward(self, words):
        places = torch.arange(words.shape[1], device=words.device)
        return self.layers(self.norm(self.words(words) + self.places(places)))


def image(batch):
    return torch.randn(batch, 3, 224, 224, device="cuda", dtype=torch.float16)


def sentence(batch):
    return torch.randint(0, 30522, (batch, 128), device="cuda")


MODELS = (("resnet50", resnet50, image), ("distilbert", DistilBert, sentence))


def run(model, data, seconds):
    times = []
    end = time.perf_counter() + seconds
    begin = last = time.perf_counter()
    while last < end:
        model(data)
        torch.cuda.synchronize()
        now = time.perf_counter()
        times.append((now - last) * 1e3)
        last = now
    times.sort()
    return len(times), last - begin, times[len(times) // 2], times[min(len(times) - 1, int(len(times) * 0.99))]


def serve(models):
    channel = socket.socket(fileno=3)
    for model, data in models:
        for batch in (1, 8):
            model(data(batch))
    torch.cuda.synchronize()
    channel.send(b"ready")
    while True:
        words = channel.recv(4096).split()
        if not words or words[0] != b"run":
            return
        model, data = models[int(float(words[1]))]
        result = run(model, data(int(float(words[2]))), float(words[3]))
        channel.send(("done " + " ".join(str(number) for number in result)).encode())


def profile(models):
    from torch.profiler import ProfilerActivity, profile as profiler
    for (name, _, _), (model, data) in zip(MODELS, models):
        inputs = data(8)
        model(inputs)
        torch.cuda.synchronize()
        with profiler(activities=[ProfilerActivity.CUDA]) as profiled:
            model(inputs)
            torch.cuda.synchronize()
        counts = {}
        for event in profiled.events():
            if event.device_type == torch.autograd.DeviceType.CUDA and not event.name.startswith(("Memcpy", "Memset")):
                counts[event.name] = counts.get(event.name, 0) + 1
        for kernel, count in counts.items():
            print(f"{name}\t{count}\t{kernel}")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    with torch.inference_mode():
        models = [(make().to("cuda", torch.float16).eval(), data) for _, make, data in MODELS]
        {"serve": serve, "profile": profile}[sys.argv[1]](models)


main()
