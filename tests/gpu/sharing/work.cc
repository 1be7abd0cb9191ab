#include "sharing/work.h"

#include <algorithm>

#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "frame/torch.h"

namespace tutti::gpu {

using namespace cuda;

std::vector<Work> KernelWork() {
  return {{"kernels of about 5 us", {2'000, 0}},
          {"kernels of about 50 us", {20'000, 0}},
          {"kernels of about 500 us", {200'000, 0}}};
}

std::vector<Work> ModelWork() {
  return {{"ResNet-50, batch 1", {0, 1}},
          {"ResNet-50, batch 8", {0, 8}},
          {"DistilBERT, batch 1", {1, 1}},
          {"DistilBERT, batch 8", {1, 8}}};
}

void RunKernelWorker(Channel& step, std::string_view) {
  const Gpu gpu = OpenGpu();
  const CUfunction kernel = Kernel("work");
  const CUstream stream = NewStream();
  // A few blocks: what small work of one process leaves free others can use. Steps and not time: a clock goes on while
  // another process has the device.
  const unsigned blocks = std::max(1, MultiprocessorCount(gpu.device) / 8);
  Launch(kernel, blocks, 128, stream, uint64_t{1000}, CUdeviceptr{0});
  CU(cuStreamSynchronize, stream);
  step.Say("ready");
  for (Heard order = step.Hear(60); order.word == "run"; order = step.Hear(60)) {
    std::vector<double> times;
    const Stopwatch all;
    while (all.seconds() < order.number(2)) {
      const Stopwatch time;
      Launch(kernel, blocks, 128, stream, static_cast<uint64_t>(order.number(0)), CUdeviceptr{0});
      CU(cuStreamSynchronize, stream);
      times.push_back(time.ms());
    }
    const double seconds = all.seconds();
    step.Say("done", {static_cast<double>(times.size()), seconds, Median(times), Quantile(times, 0.99)});
  }
}

Peer StartModelWorker(const Peer::Environment& environment) {
  const Torch torch = FindTorch();
  if (torch.python.empty()) GiveUp(Outcome::kLacks, torch.why_not);
  Peer::Environment all = {{"PYTHONDONTWRITEBYTECODE", "1"}, {"CUDA_MODULE_LOADING", "LAZY"}};
  all.insert(all.end(), environment.begin(), environment.end());
  return Peer::OfProgram("the model worker", {torch.python, Here().data + "/torch_work.py", "serve"}, all);
}

void Together(std::vector<Peer>& workers, size_t count, const Work& work, double seconds, std::string_view how) {
  std::vector<double> order = work.numbers;
  order.push_back(seconds);
  for (size_t i = 0; i < count; ++i) workers[i].channel().Say("run", order);
  double rate = 0, slowest = 0, p50 = 0, p99 = 0;
  for (size_t i = 0; i < count; ++i) {
    const Heard done = workers[i].Expect("done", seconds + 20);
    const double own = done.number(1) > 0 ? done.number(0) / done.number(1) : 0;
    rate += own;
    slowest = i == 0 ? own : std::min(slowest, own);
    p50 = std::max(p50, done.number(2));
    p99 = std::max(p99, done.number(3));
  }
  const double batch = std::max(1.0, work.numbers[1]);
  Record()
      .Set("work", work.name)
      .Set("how", how)
      .Set("processes", count)
      .Set("a second, together", rate * batch)
      .Set("of the slowest", slowest * batch)
      .Set("p50, ms", p50)
      .Set("p99, ms", p99)
      .Write();
}

}  // namespace tutti::gpu
