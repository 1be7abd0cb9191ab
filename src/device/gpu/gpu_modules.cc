#include "device/gpu/gpu_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <string_view>
#include <thread>

#include "base/checked.h"
#include "cuda/result.h"
#include "os/memory.h"

namespace tutti::device::gpu {
namespace {

using executor::RequestKind;

constexpr const char* kRemedy =
    "; on a server with TUTTI_ISOLATION=process programs have contexts of their own, for "
    "any code";
constexpr uint64_t kSpacePerByte = 4;  // that a description takes here, at most
constexpr size_t kMostVariables = 65536;  // of a module: others wait while they are entered
constexpr size_t kMostModules = 65536;  // of a client
constexpr uint64_t kPartForImages = 8;  // of the host memory that the client may have
constexpr uint64_t kMostVariableBytes = 1ull << 40;  // so that sums of a description's do not overflow

std::unexpected<Error> NoKernel(uint32_t module, uint32_t kernel) {
  return Fail(cuda::CUDA_ERROR_INVALID_HANDLE, fmt::format("module {} has no kernel {}", module, kernel));
}

uint32_t FlagsOf(bool as_it_is) { return as_it_is ? uint32_t{executor::kAsItIs} : 0; }

size_t HashOf(const os::Mapping& bytes) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
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

Status GpuModules::TakeManaged(module::ModuleInfo& info, uint64_t bytes) {
  if (bytes == 0) return {};
  for (const module::VariableInfo& variable : info.variables) {
    if (variable.is_managed && !InRange(variable.address, variable.bytes, bytes))
      return Fail("a managed variable beyond their memory");
  }
  std::erase_if(info.memory, [](const module::MemoryRange& range) { return range.address == 0; });
  return {};
}

size_t GpuModules::Fenced::bytes() const {
  constexpr size_t kOfEach = 2 * sizeof(std::string);
  size_t sum = 0;
  for (const std::string& name : functions) sum += kOfEach + name.size();
  for (const auto& [name, why] : refused) sum += kOfEach + name.size() + why.size();
  return sum;
}

bool GpuModules::CannotBeFenced(const Error& error) {
  return error.code == cuda::CUDA_ERROR_NO_BINARY_FOR_GPU || error.code == cuda::CUDA_ERROR_NOT_SUPPORTED;
}

Result<GpuModules::FencedImage> GpuModules::Fence(std::span<const uint8_t> image) {
  auto fenced = fences_->Fence(image, capability_, cancelled_);
  if (fenced) return fenced;
  const Error& error = fenced.error();
  const bool lacks_ptx = error.code == cuda::CUDA_ERROR_NO_BINARY_FOR_GPU;
  return Fail(error.code, (lacks_ptx ? "programs that share a context of the GPU need PTX: " : "") + error.text +
                              (CannotBeFenced(error) ? kRemedy : ""));
}

Result<Space::LoadedModule> GpuModules::Load(const compiler::FencedImage& image, GpuMemory& memory) {
  std::vector<uint8_t> parts(image.ptx.begin(), image.ptx.end());
  const Fenced fenced{
      .text_bytes = group_.empty() ? 0 : parts.size(), .functions = image.functions, .refused = image.refused};
  if (!group_.empty()) {
    TUTTI_ASSIGN(const auto code, jit_->Compile(image.ptx, group_, cancelled_));
    parts.insert(parts.end(), code->begin(), code->end());
  }
  return Load(parts, fenced, memory);
}

Result<Space::LoadedModule> GpuModules::LoadAsItIs(std::span<const uint8_t> image, GpuMemory& memory) {
  return Load(image, {.as_it_is = fences_ != nullptr, .functions = {}, .refused = {}}, memory);
}

Result<Space::LoadedModule> GpuModules::Load(std::span<const uint8_t> image, const Fenced& fenced, GpuMemory& memory) {
  std::optional<InVain> in_vain;
  auto described = executor_->WithOne([&] {
    if (in_vain) memory.ReleaseOfDriver(in_vain->bytes, false);  // with the executor that had loaded it
    in_vain.reset();
    return LoadNow(image, fenced, memory, &in_vain);
  });
  if (in_vain && AwaitUnload(in_vain->module)) memory.ReleaseOfDriver(in_vain->bytes, false);
  TUTTI_ASSIGN(Described loaded, std::move(described));
  if (loaded.managed_bytes == 0) return std::move(loaded.module);
  const Status placed = PlaceManaged(loaded, memory);
  if (placed) return std::move(loaded.module);
  Withdraw(loaded.module.id, memory);
  return std::unexpected(placed.error());
}

// The memory outlives the executor, as all of the client's does.
Status GpuModules::PlaceManaged(Described& loaded, GpuMemory& memory) {
  constexpr uint64_t kLeastAlignment = 4096, kMostAlignment = 1 << 20;  // what PTX may ask for
  const uint64_t alignment =
      std::clamp<uint64_t>(loaded.managed_bytes & -loaded.managed_bytes, kLeastAlignment, kMostAlignment);
  const uint32_t number = loaded.module.id;
  TUTTI_ASSIGN(const uint64_t address, memory.Allocate(wire::MemoryKind::kManaged, loaded.managed_bytes, alignment,
                                                       GpuMemory::Holder::kDevice));
  const Status placed = executor_->WithOne([&]() -> Status {
    TUTTI_TRY(executor_->Ask({.kind = RequestKind::kPlaceManaged, .address = address, .module = number}));
    std::lock_guard lock(mutex_);
    const auto found = modules_.find(number);
    if (found == modules_.end()) return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, "the module is loaded no more");
    found->second.managed = address;
    return {};
  });
  if (!placed) {
    (void)memory.Retire(address, GpuMemory::Holder::kDevice);
    memory.Release(address);
    return placed;
  }
  module::ModuleInfo& info = loaded.module.info;
  for (module::VariableInfo& variable : info.variables)
    if (variable.is_managed) variable.address += address;
  info.memory.push_back({.address = address, .bytes = loaded.managed_bytes});
  return {};
}

// Nobody has been told of it.
void GpuModules::Withdraw(uint32_t module, GpuMemory& memory) {
  auto unloaded = Unload(module);
  if (!unloaded) return;  // its executor is lost, and it with it
  if (AwaitUnload(module)) memory.ReleaseOfDriver(unloaded->bytes, false);
}

// For as long as it takes. False: the client goes, and what it has counts until its executor has given it back.
bool GpuModules::AwaitUnload(uint32_t module) {
  constexpr std::chrono::milliseconds kLook{10};
  while (!UnloadFromExecutor(module)) {
    if (cancelled_.load(std::memory_order_relaxed)) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

Result<GpuModules::Described> GpuModules::LoadNow(std::span<const uint8_t> image, Fenced fenced, GpuMemory& memory,
                                                  std::optional<InVain>* in_vain) {
  uint32_t number = 0;
  {
    std::lock_guard lock(mutex_);
    if (modules_.size() >= kMostModules) return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "the client has too many modules");
    number = ++last_module_;
  }
  TUTTI_ASSIGN(os::Fd file, os::CreateMemoryOf("tutti-image", image));
  const uint32_t limited = memory.is_limited() ? uint32_t{executor::kIsLimited} : 0;
  std::unique_lock loading(loading_);
  const uint64_t most_bytes = memory.LeftForDriver();
  TUTTI_ASSIGN(CurrentExecutor::Reply reply, executor_->Ask({.kind = RequestKind::kLoadModule,
                                                             .bytes = fenced.text_bytes,
                                                             .host_bytes = most_bytes,
                                                             .module = number,
                                                             .flags = FlagsOf(fenced.as_it_is) | limited},
                                                            file.get()));
  HostHold held;
  bool has_room = true;
  size_t described_as = 0;
  const auto described = [&]() -> Result<module::ModuleInfo> {
    TUTTI_ASSIGN(const os::Mapping bytes, os::Mapping::Constant(reply.file.get(), executor::kMostModuleInfoBytes));
    held = HostHold(host_, kSpacePerByte * bytes.size() + fenced.bytes());
    has_room = static_cast<bool>(held);
    if (!has_room) return module::ModuleInfo{};
    described_as = HashOf(bytes);
    TUTTI_ASSIGN(module::ModuleInfo info, module::ParseModuleInfo({bytes.data(), bytes.size()}));
    TUTTI_TRY(TakeManaged(info, reply.answer.managed_bytes));
    TUTTI_TRY(CheckMemory(info.memory));
    for (module::KernelInfo& kernel : info.kernels) {
      const auto refused = fenced.refused.find(kernel.name);
      if (refused != fenced.refused.end()) kernel.error = refused->second + kRemedy;
    }
    return info;
  };
  auto info = described();
  const uint64_t bytes =
      info ? BytesOf(info->memory) + std::min(reply.answer.other_bytes, kMostVariableBytes) : uint64_t{0};
  // No more than it may have loaded, whatever it says.
  const auto have_it_unloaded = [&] {
    *in_vain = {.module = number, .bytes = std::min(bytes, most_bytes)};
    memory.CountTaken((*in_vain)->bytes);
  };
  if (info && (!has_room || info->memory.size() > kMostVariables)) {
    have_it_unloaded();
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
  if (const Status counted = memory.CountForDriver(bytes); !counted) {
    have_it_unloaded();
    return std::unexpected(counted.error());
  }
  loading.unlock();
  std::lock_guard lock(mutex_);
  if (!executor_->Is(reply.from.get())) {  // what another one has loaded is forgotten, or has been
    memory.ReleaseOfDriver(bytes, false);
    return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, "the program's executor has ended as it loaded a module");
  }
  for (const module::MemoryRange& range : info->memory)
    variables_.emplace(range.address, Variable{.bytes = range.bytes, .module = number});
  const uint64_t state = reply.answer.value;
  if (state != 0) fresh_.push_back(number);
  modules_.emplace(number, Module{.kernels = info->kernels,
                                  .memory = info->memory,
                                  .bytes = bytes,
                                  .prepared = {},
                                  .described = std::move(held),
                                  .image = Keep(std::move(file), image.size(), memory),
                                  .described_as = described_as,
                                  .state = state,
                                  .fenced = std::move(fenced)});
  return Described{.module = {.id = number, .info = std::move(*info), .log = std::move(reply.answer.text)},
                   .managed_bytes = reply.answer.managed_bytes};
}

// With the lock.
std::shared_ptr<const GpuModules::Image> GpuModules::Keep(os::Fd file, uint64_t bytes, const GpuMemory& memory) {
  const uint64_t most = host_->limit_bytes() / kPartForImages;
  if (image_bytes_ > most || bytes > most - image_bytes_) return nullptr;
  Image kept{.file = std::move(file), .place = memory.PlaceForHeld(), .bytes = HostHold(host_, bytes)};
  if (!kept.place || !kept.bytes) return nullptr;
  image_bytes_ += bytes;
  return {new Image(std::move(kept)), [this, bytes](const Image* image) {
            delete image;
            image_bytes_ -= bytes;
          }};
}

Result<PreparedKernel> GpuModules::Prepare(uint32_t module, uint32_t kernel) {
  std::lock_guard lock(mutex_);
  const auto found = modules_.find(module);
  if (found == modules_.end() || kernel >= found->second.kernels.size()) return NoKernel(module, kernel);
  const module::KernelInfo& info = found->second.kernels[kernel];
  if (!info.error.empty())
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, fmt::format("kernel {}: {}", info.name, info.error));
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
  TUTTI_ASSIGN(const CurrentExecutor::Reply reply, executor_->WithOne([&] {
    return executor_->Ask({.kind = RequestKind::kOccupancy,
                           .module = module,
                           .kernel = kernel,
                           .block_threads = block_threads,
                           .dynamic_shared_bytes = dynamic_shared_bytes});
  }));
  constexpr uint64_t kMostBlocks = 1024;
  return static_cast<uint32_t>(std::min(reply.answer.value, kMostBlocks));
}

Result<GpuModules::Unloaded> GpuModules::Unload(uint32_t module) {
  std::lock_guard lock(mutex_);
  const auto found = modules_.find(module);
  if (found == modules_.end())
    return Fail(cuda::CUDA_ERROR_INVALID_HANDLE, fmt::format("there is no module {}", module));
  for (const auto& [kernel, id] : found->second.prepared) kernels_.erase(id);
  const uint64_t bytes = found->second.bytes, managed = found->second.managed;
  for (const module::MemoryRange& range : found->second.memory) variables_.erase(range.address);
  std::erase(fresh_, module);
  unloading_.insert(modules_.extract(found));
  return Unloaded{.module = module, .bytes = bytes, .managed = managed};
}

bool GpuModules::UnloadFromExecutor(uint32_t module) {
  const auto use = executor_->Using();  // else the next executor might be given it meanwhile
  const auto reply = executor_->Ask({.kind = RequestKind::kUnloadModule, .module = module});
  if (reply && reply->answer.value == executor::kStillLoaded) return false;
  std::lock_guard lock(mutex_);
  unloading_.erase(module);
  return true;
}

GpuModules::Forgotten GpuModules::Forget() {
  std::lock_guard lock(mutex_);
  Forgotten forgotten;
  for (const auto& [number, module] : modules_) {
    forgotten.bytes += module.bytes;
    if (module.managed != 0) forgotten.managed.push_back(module.managed);
  }
  modules_.clear();
  fresh_.clear();
  has_heap_ = false;
  variables_.clear();
  kernels_.clear();
  return forgotten;
}

std::optional<std::string> GpuModules::WhyBound() const {
  constexpr std::pair<uint64_t, const char*> kReasons[] = {
      {executor::kKeepsVariables, "its kernels may have written variables of a module"},
      {executor::kTakesFunctions, "addresses of functions may lie in its memory"},
      {executor::kUnknownCode, "a module of it is machine code, of which nothing is known"},
  };
  std::lock_guard lock(mutex_);
  if (has_heap_) return "its kernels may have allocated memory";
  for (const auto* const modules : {&modules_, &unloading_}) {
    for (const auto& [number, module] : *modules) {
      if (module.image == nullptr) return "there was no room to keep an image of a module";
      if (module.written) return "it has written a variable of a module";
      for (const auto& [state, reason] : kReasons)
        if (module.launched && (module.state & state) != 0) return reason;
    }
  }
  return std::nullopt;
}

Status GpuModules::LoadInto(ExecutorLink& executor) {
  struct Loaded {
    std::shared_ptr<const Image> image;
    size_t described_as;
    bool as_it_is;
    uint64_t text_bytes;
    uint64_t managed;
  };
  std::map<uint32_t, Loaded> loaded;
  {
    std::lock_guard lock(mutex_);
    for (const auto* const modules : {&modules_, &unloading_})
      for (const auto& [number, module] : *modules)
        loaded[number] = {module.image, module.described_as, module.fenced.as_it_is, module.fenced.text_bytes,
                          module.managed};
  }
  for (const auto& [number, module] : loaded) {
    if (module.image == nullptr) return Fail("an image of a module was not kept");
    TUTTI_ASSIGN(const ExecutorLink::Reply reply, executor.Ask({.kind = RequestKind::kLoadModule,
                                                                .bytes = module.text_bytes,
                                                                .host_bytes = ~uint64_t{0},  // it counts already
                                                                .module = number,
                                                                .flags = FlagsOf(module.as_it_is)},
                                                               module.image->file.get()));
    TUTTI_ASSIGN(const os::Mapping bytes, os::Mapping::Constant(reply.file.get(), executor::kMostModuleInfoBytes));
    if (HashOf(bytes) != module.described_as) return Fail("a module has other addresses than before");
    if (module.managed == 0) continue;
    TUTTI_TRY(executor.Ask({.kind = RequestKind::kPlaceManaged,
                            .address = module.managed,
                            .module = number,
                            .flags = executor::kWithContents}));
  }
  return {};
}

uint64_t GpuModules::BytesOf(std::span<const module::MemoryRange> variables) {
  return std::accumulate(variables.begin(), variables.end(), uint64_t{0},
                         [](uint64_t sum, const module::MemoryRange& range) { return sum + range.bytes; });
}

std::optional<std::string> GpuModules::FunctionOf(const guest::FenceFault& fault) const {
  std::lock_guard lock(mutex_);
  const auto found = modules_.find(fault.module);
  if (found == modules_.end() || fault.function >= found->second.fenced.functions.size()) return std::nullopt;
  return found->second.fenced.functions[fault.function];
}

std::optional<GpuModules::Kernel> GpuModules::FindToLaunch(uint32_t kernel) {
  std::lock_guard lock(mutex_);
  for (const uint32_t number : fresh_) {
    Module& module = modules_.at(number);
    module.launched = true;
    has_heap_ |= (module.state & executor::kKeepsHeap) != 0;
  }
  fresh_.clear();
  const auto found = kernels_.find(kernel);
  return found == kernels_.end() ? std::nullopt : std::optional(found->second);
}

bool GpuModules::HasVariable(uint64_t address, uint64_t bytes, bool writes) {
  std::lock_guard lock(mutex_);
  const auto behind = variables_.upper_bound(address);
  if (behind == variables_.begin()) return false;
  const auto& [begin, variable] = *std::prev(behind);
  if (!InRange<uint64_t>(address - begin, bytes, variable.bytes)) return false;
  if (writes) modules_.at(variable.module).written = true;
  return true;
}

}  // namespace tutti::device::gpu
