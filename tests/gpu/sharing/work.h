// Processes that work when they are told: what throughput and latency are measured with.
#pragma once

#include <string>
#include <vector>

#include "frame/peer.h"

namespace tutti::gpu {

// What a worker may be asked to do: kernels of so many steps, or a model and its batch.
struct Work {
  std::string name;
  std::vector<double> numbers;
};
std::vector<Work> KernelWork();
std::vector<Work> ModelWork();

// The role of a worker with kernels: says "ready", hears "run" with a Work's numbers and seconds, says "done" with a
// count, the seconds, the median and the 99th percentile in ms.
void RunKernelWorker(Channel& step, std::string_view);
// A worker with models, with these variables beside ours. Ends the process if PyTorch is not here.
Peer StartModelWorker(const Peer::Environment& environment = {});

// The first `count` workers do this at once: one record, with what they did together.
void Together(std::vector<Peer>& workers, size_t count, const Work& work, double seconds, std::string_view how);

}  // namespace tutti::gpu
