// N1: the ceilings of a single process, call by call.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/peer.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "native/native.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

constexpr size_t kKib = 1024, kMib = 1 << 20;

void Launching(std::string_view) {
  OpenGpu();
  const CUfunction empty = Kernel("empty");
  const CUstream stream = NewStream();
  std::vector<double> enqueue, both;
  for (int i = 0; i < Here().Size(20'000, 200); ++i) {
    const Stopwatch time;
    Launch(empty, 1, 1, stream);
    enqueue.push_back(time.us());
    if (i % 256 == 255) CU(cuStreamSynchronize, stream);
  }
  CU(cuStreamSynchronize, stream);
  for (int i = 0; i < Here().Size(20'000, 200); ++i) {
    const Stopwatch time;
    Launch(empty, 1, 1, stream);
    CU(cuStreamSynchronize, stream);
    both.push_back(time.us());
  }
  Record().Set("what", "launch").Set("median us", Median(enqueue)).Set("p99 us", Quantile(enqueue, 0.99)).Write();
  Record().Set("what", "launch and wait").Set("median us", Median(both)).Set("p99 us", Quantile(both, 0.99)).Write();
}

void Graph(std::string_view) {
  OpenGpu();
  const CUstream stream = NewStream();
  CUgraph graph = nullptr;
  CU(cuGraphCreate, &graph, 0u);
  CUDA_KERNEL_NODE_PARAMS node{};
  node.func = Kernel("empty");
  node.gridDimX = node.gridDimY = node.gridDimZ = node.blockDimX = node.blockDimY = node.blockDimZ = 1;
  void* none[] = {nullptr};
  node.kernelParams = none;
  CUgraphNode last = nullptr;
  for (int i = 0; i < 20; ++i) {
    CUgraphNode next = nullptr;
    CU(cuGraphAddKernelNode_v2, &next, graph, static_cast<const CUgraphNode*>(&last),
       static_cast<size_t>(i == 0 ? 0 : 1), static_cast<const CUDA_KERNEL_NODE_PARAMS*>(&node));
    last = next;
  }
  CUgraphExec executable = nullptr;
  const Stopwatch making;
  CU(cuGraphInstantiateWithFlags, &executable, graph, 0ull);
  const double make_us = making.us();
  CU(cuGraphLaunch, executable, stream);
  CU(cuStreamSynchronize, stream);
  std::vector<double> enqueue, both;
  for (int i = 0; i < Here().Size(3000, 20); ++i) {
    const Stopwatch time;
    CU(cuGraphLaunch, executable, stream);
    enqueue.push_back(time.us());
    CU(cuStreamSynchronize, stream);
    both.push_back(time.us());
  }
  Record().Set("what", "instantiate 20 nodes").Set("median us", make_us).Set("p99 us", make_us).Write();
  Record()
      .Set("what", "launch a graph of 20")
      .Set("median us", Median(enqueue))
      .Set("p99 us", Quantile(enqueue, 0.99))
      .Write();
  Record()
      .Set("what", "launch a graph of 20 and wait")
      .Set("median us", Median(both))
      .Set("p99 us", Quantile(both, 0.99))
      .Write();
}

void Copies(std::string_view step) {
  OpenGpu();
  const bool pinned = step == "copies_pinned";
  const size_t most = Here().Size<size_t>(1024 * kMib, kMib);
  void* host = nullptr;
  if (pinned) {
    CU(cuMemHostAlloc, &host, most, 0u);
  } else {
    host = std::malloc(most);
  }
  std::memset(host, 1, most);
  CUdeviceptr device = 0;
  CU(cuMemAlloc_v2, &device, most);
  const CUstream stream = NewStream();
  for (size_t bytes = 4 * kKib; bytes <= most; bytes *= 4) {
    const int rounds = static_cast<int>(std::clamp<size_t>(Here().Size(512 * kMib, kMib) / bytes, 2, 2000));
    double seconds[2];
    for (const int back : {0, 1}) {
      const auto copy = [&] {
        if (back == 0) {
          CU(cuMemcpyHtoDAsync_v2, device, static_cast<const void*>(host), bytes, stream);
        } else {
          CU(cuMemcpyDtoHAsync_v2, host, device, bytes, stream);
        }
      };
      copy();
      CU(cuStreamSynchronize, stream);
      const Stopwatch time;
      for (int i = 0; i < rounds; ++i) {
        copy();
        CU(cuStreamSynchronize, stream);
      }
      seconds[back] = time.seconds() / rounds;
    }
    Record()
        .Set("host memory", pinned ? "pinned" : "pageable")
        .Set("KiB", bytes / kKib)
        .Set("to the device, GB/s", static_cast<double>(bytes) / seconds[0] / 1e9)
        .Set("from it, GB/s", static_cast<double>(bytes) / seconds[1] / 1e9)
        .Set("to, us", seconds[0] * 1e6)
        .Set("from, us", seconds[1] * 1e6)
        .Write();
  }
}

void Allocation(std::string_view) {
  OpenGpu();
  const CUstream stream = NewStream();
  const auto sizes =
      Here().small ? std::vector<size_t>{kMib} : std::vector<size_t>{4 * kKib, 2 * kMib, 64 * kMib, 1024 * kMib};
  for (const size_t bytes : sizes) {
    std::vector<double> make, give, make_async;
    for (int i = 0; i < Here().Size(50, 5); ++i) {
      CUdeviceptr at = 0;
      const Stopwatch making;
      CU(cuMemAlloc_v2, &at, bytes);
      make.push_back(making.us());
      const Stopwatch giving;
      CU(cuMemFree_v2, at);
      give.push_back(giving.us());
    }
    for (int i = 0; i < Here().Size(50, 5); ++i) {
      CUdeviceptr at = 0;
      const Stopwatch making;
      if (CU_TRY(cuMemAllocAsync, &at, bytes, stream) != 0) break;
      CU(cuMemFreeAsync, at, stream);
      make_async.push_back(making.us());
      CU(cuStreamSynchronize, stream);
    }
    Record()
        .Set("KiB", bytes / kKib)
        .Set("cuMemAlloc, us", Median(make))
        .Set("cuMemFree, us", Median(give))
        .Set("from a pool and back, us", Median(make_async))
        .Write();
  }
}

void Starter(Channel& step, std::string_view) {
  const Gpu gpu = OpenGpu();
  step.Say("works", {gpu.init_ms, gpu.context_ms, gpu.kernel_ms});
}

void Start(std::string_view) {
  std::vector<double> all, init, context, kernel;
  for (int i = 0; i < Here().Size(5, 2); ++i) {
    const Stopwatch time;
    Peer starter("starter");
    const Heard works = starter.Expect("works");
    all.push_back(time.ms());
    init.push_back(works.number(0));
    context.push_back(works.number(1));
    kernel.push_back(works.number(2));
    starter.Finish();
  }
  Record()
      .Set("from exec to the end of the first kernel, ms", Median(all))
      .Set("of it cuInit", Median(init))
      .Set("of it the context", Median(context))
      .Set("of it the kernel", Median(kernel))
      .Write();
}

std::string Decide(const Evidence& evidence) {
  const auto value = [&](std::string_view what) -> std::string {
    for (const Row* row : evidence.Of("N1")) {
      if (row->Text("what") == what) return Show(row->Number("median us").value_or(0));
    }
    return "";
  };
  const std::string launch = value("launch"), both = value("launch and wait"),
                    graph = value("launch a graph of 20 and wait");
  if (launch.empty() || both.empty()) return evidence.Undecided("N1");
  std::string text = "none; to stay behind by at most 2%: launch " + launch + " us, launch and wait " + both + " us";
  if (!graph.empty()) text += ", graph of 20 " + graph + " us";
  if (const auto to = evidence.Most("N1", "copies_pinned", "to the device, GB/s"),
      from = evidence.Most("N1", "copies_pinned", "from it, GB/s");
      to && from)
    text += ", pinned copies " + Show(*to) + " and " + Show(*from) + " GB/s";
  return text;
}

constexpr Role kRoles[] = {{"starter", Starter}};
constexpr Step kSteps[] = {{"launch", Launching, 8},       {"graph", Graph, 8},
                           {"copies_pinned", Copies, 15},  {"copies_pageable", Copies, 15},
                           {"allocation", Allocation, 10}, {"start", Start, 15}};

}  // namespace

const Probe kN1{"N1", "What do the driver's calls cost in one process?", kSteps, kRoles, Decide};

}  // namespace tutti::gpu
