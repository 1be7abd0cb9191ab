#include "device/gpu/gpu_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "cuda/result.h"
#include "os/memory.h"

namespace tutti::device::gpu {
namespace {

using executor::RequestKind;

constexpr uint64_t kSpacePerByte = 4;  // that a description takes here, at most
constexpr size_t kMostVariables = 65536;  // of a module: others wait while they are entered
constexpr size_t kMostModules = 65536;  // of a client
constexpr uint64_t kMostVariableBytes = 1ull << 40;  // so that sums of a description's do not overflow

std::unexpected<Error> NoKernel(uint32_t module, uint32_t kernel) {
  return Fail(cuda::CUDA_ERROR_INVALID_HANDLE, fmt::format("module {} has no kernel {}", module, kernel));
}

}  // namespace

Status GpuModules::CheckMemory(std::vector<module::MemoryRange>& memory) {
  std::erase_if(memory, [](const module::MemoryRange& range) { return range.bytes == 0; });
  const auto too_large = [](const module::MemoryRange& range) { return range.bytes > kMostVariableBytes; };
  if (std::ranges::any_of(memory, too_large)) return Fail("a variable larger than any device");
  std::ranges::sort(memory, {}, &module::MemoryRange::address);
  const auto overlap = [](const module::MemoryRange& one, const module::MemoryRange& next) {
    return next.address - one.address < one.bytes;
  };
  if (std::ranges::adjacent_find(memory, overlap) != memory.end()) return Fail("two variables at one address");
  return {};
}

Result<Space::LoadedModule> GpuModules::Load(std::span<const uint8_t> image, GpuMemory& memory) {
  uint32_t number = 0;
  {
    std::lock_guard lock(mutex_);
    if (modules_.size() >= kMostModules) return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "the client has too many modules");
    number = ++last_module_;
  }
  TUTTI_ASSIGN(const os::Fd file, os::CreateMemoryOf("tutti-image", image));
  TUTTI_ASSIGN(CurrentExecutor::Reply reply,
               executor_->Ask({.kind = RequestKind::kLoadModule, .module = number}, file.get()));
  HostHold held;
  bool has_room = true;
  const auto described = [&]() -> Result<module::ModuleInfo> {
    TUTTI_ASSIGN(const os::Mapping bytes, os::Mapping::Constant(reply.file.get(), executor::kMostModuleInfoBytes));
    held = HostHold(host_, kSpacePerByte * bytes.size());
    has_room = static_cast<bool>(held);
    if (!has_room) return module::ModuleInfo{};
    TUTTI_ASSIGN(module::ModuleInfo info, module::ParseModuleInfo({bytes.data(), bytes.size()}));
    TUTTI_TRY(CheckMemory(info.memory));
    return info;
  };
  auto info = described();
  if (info && (!has_room || info->memory.size() > kMostVariables)) {
    (void)executor_->Ask({.kind = RequestKind::kUnloadModule, .module = number});
    if (!has_room) return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "no memory of the host for what the module is");
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED,
                fmt::format("a module of {} variables: {} at most", info->memory.size(), kMostVariables));
  }
  if (!info) {
    executor_->Lose(reply.from.get(), {.code = cuda::CUDA_ERROR_DEVICE_UNAVAILABLE,
                                       .text = "the program's executor says what cannot be"});
    return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE,
                "the executor has described a module wrongly: " + info.error().text);
  }
  const uint64_t bytes = BytesOf(info->memory);
  if (const Status counted = memory.CountModule(bytes); !counted) {
    (void)executor_->Ask({.kind = RequestKind::kUnloadModule, .module = number});
    return std::unexpected(counted.error());
  }
  std::lock_guard lock(mutex_);
  if (!executor_->Is(reply.from.get())) {  // what another one has loaded is forgotten, or has been
    memory.ReleaseModule(bytes, false);
    return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, "the program's executor has ended as it loaded a module");
  }
  for (const module::MemoryRange& range : info->memory) variables_.emplace(range.address, range.bytes);
  modules_.emplace(
      number, Module{.kernels = info->kernels, .memory = info->memory, .prepared = {}, .described = std::move(held)});
  return Space::LoadedModule{.id = number, .info = std::move(*info), .log = std::move(reply.answer.text)};
}

Result<PreparedKernel> GpuModules::Prepare(uint32_t module, uint32_t kernel) {
  std::lock_guard lock(mutex_);
  const auto found = modules_.find(module);
  if (found == modules_.end() || kernel >= found->second.kernels.size()) return NoKernel(module, kernel);
  const module::KernelInfo& info = found->second.kernels[kernel];
  const auto [prepared, fresh] = found->second.prepared.try_emplace(kernel, last_kernel_ + 1);
  if (fresh) kernels_[++last_kernel_] = {.module = module, .number = kernel, .param_bytes = info.param_bytes};
  return PreparedKernel{.id = prepared->second, .local_bytes = info.local_bytes, .max_threads = info.max_threads};
}

Result<uint32_t> GpuModules::BlocksPerSm(uint32_t module, uint32_t kernel, uint32_t block_threads,
                                         uint32_t dynamic_shared_bytes) {
  {
    std::lock_guard lock(mutex_);
    const auto found = modules_.find(module);
    if (found == modules_.end() || kernel >= found->second.kernels.size()) return NoKernel(module, kernel);
  }
  TUTTI_ASSIGN(const ExecutorLink::Reply reply, executor_->Ask({.kind = RequestKind::kOccupancy,
                                                                .module = module,
                                                                .kernel = kernel,
                                                                .block_threads = block_threads,
                                                                .dynamic_shared_bytes = dynamic_shared_bytes}));
  constexpr uint64_t kMostBlocks = 1024;
  return static_cast<uint32_t>(std::min(reply.answer.value, kMostBlocks));
}

Result<GpuModules::Unloaded> GpuModules::Unload(uint32_t module) {
  std::lock_guard lock(mutex_);
  const auto found = modules_.find(module);
  if (found == modules_.end())
    return Fail(cuda::CUDA_ERROR_INVALID_HANDLE, fmt::format("there is no module {}", module));
  for (const auto& [kernel, id] : found->second.prepared) kernels_.erase(id);
  const uint64_t bytes = BytesOf(found->second.memory);
  for (const module::MemoryRange& range : found->second.memory) variables_.erase(range.address);
  modules_.erase(found);
  std::shared_ptr<const void> kept(this, [module, executor = executor_](const void*) {
    (void)executor->Ask({.kind = RequestKind::kUnloadModule, .module = module});
  });
  return Unloaded{.kept = std::move(kept), .bytes = bytes};
}

uint64_t GpuModules::Forget() {
  std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [number, module] : modules_) bytes += BytesOf(module.memory);
  modules_.clear();
  variables_.clear();
  kernels_.clear();
  return bytes;
}

uint64_t GpuModules::BytesOf(std::span<const module::MemoryRange> variables) {
  return std::accumulate(variables.begin(), variables.end(), uint64_t{0},
                         [](uint64_t sum, const module::MemoryRange& range) { return sum + range.bytes; });
}

std::optional<GpuModules::Kernel> GpuModules::Find(uint32_t kernel) const {
  std::lock_guard lock(mutex_);
  const auto found = kernels_.find(kernel);
  return found == kernels_.end() ? std::nullopt : std::optional(found->second);
}

bool GpuModules::HasVariable(uint64_t address, uint64_t bytes) const {
  std::lock_guard lock(mutex_);
  const auto behind = variables_.upper_bound(address);
  if (behind == variables_.begin()) return false;
  const auto [begin, size] = *std::prev(behind);
  return InRange<uint64_t>(address - begin, bytes, size);
}

}  // namespace tutti::device::gpu
