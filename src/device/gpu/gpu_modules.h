// A Space's modules and kernels: what the executor has loaded, by numbers of ours. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "device/device.h"
#include "device/gpu/current_executor.h"
#include "device/gpu/gpu_memory.h"
#include "device/host_share.h"

namespace tutti::device::gpu {

class GpuModules {
 public:
  // Descriptions are memory of the host's, which `host` counts.
  GpuModules(CurrentExecutor* executor, HostShare* host) : executor_(executor), host_(host) {}

  // What an executor says of a module's variables: no two may lie at one address. Those of no bytes are nowhere, and
  // left out. Sorts them.
  static Status CheckMemory(std::vector<module::MemoryRange>& memory);

  // Its variables are counted in `memory`; that they are no more is told to it by whoever unloads or forgets it.
  Result<Space::LoadedModule> Load(std::span<const uint8_t> image, GpuMemory& memory);
  Result<PreparedKernel> Prepare(uint32_t module, uint32_t kernel);
  Result<uint32_t> BlocksPerSm(uint32_t module, uint32_t kernel, uint32_t block_threads, uint32_t dynamic_shared_bytes);
  struct Unloaded {
    std::shared_ptr<const void> kept;  // the executor unloads it when this is dropped
    uint64_t bytes = 0;
  };
  // It cannot be found any more.
  Result<Unloaded> Unload(uint32_t module);

  // None is loaded any more: the executor is lost. The bytes that they took.
  uint64_t Forget();

  struct Kernel {
    uint32_t module = 0;
    uint32_t number = 0;  // in it
    uint32_t param_bytes = 0;
  };
  std::optional<Kernel> Find(uint32_t kernel) const;
  // Whether these bytes are a part of a module's variable.
  bool HasVariable(uint64_t address, uint64_t bytes) const;

 private:
  struct Module {
    std::vector<module::KernelInfo> kernels;
    std::vector<module::MemoryRange> memory;  // of its variables, at addresses of the driver's
    std::map<uint32_t, uint32_t> prepared;  // kernel -> its id
    HostHold described;
  };

  static uint64_t BytesOf(std::span<const module::MemoryRange> variables);

  CurrentExecutor* const executor_;
  HostShare* const host_;
  mutable std::mutex mutex_;
  std::map<uint32_t, Module> modules_;
  std::map<uint32_t, Kernel> kernels_;  // by id
  std::map<uint64_t, uint64_t> variables_;  // of all modules: bytes by address
  uint32_t last_module_ = 0;
  uint32_t last_kernel_ = 0;
};

}  // namespace tutti::device::gpu
