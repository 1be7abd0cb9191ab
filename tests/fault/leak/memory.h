// Every way to get memory that kernels can use.
#pragma once

#include <span>

#include "../actor.h"

namespace tutti::fault {

struct MemoryWay {
  const char* name;
  cuda::CUdeviceptr (*get)(ActorPage& page, size_t bytes);
  void (*give_back)(ActorPage& page, cuda::CUdeviceptr address, size_t bytes);
};
std::span<const MemoryWay> MemoryWays();

}  // namespace tutti::fault
