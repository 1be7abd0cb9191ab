#include "executor/modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "executor/image_facts.h"
#include "executor/link.h"
#include "executor/own_stream.h"
#include "guest/gpu/managed_variables.h"
#include "image/image_kind.h"
#include "os/socket.h"

namespace tutti::executor {
namespace {

using namespace cuda;

constexpr uint32_t kPortableCluster = 8;  // blocks
constexpr size_t kLogBytes = 16 << 10;
constexpr uint32_t kMostParameters = 4096;  // of a kernel; its buffer has less than 32 KiB

}  // namespace

// What is fenced is for such a device already. Where the driver cannot compile what has been made of the text, it has
// the image: then managed variables are the device's alone, and kernels that set conditions do not run.
tutti::Result<Modules::Loaded> Modules::Load(uint32_t number, const Image& image, bool is_fenced,
                                             const Bounds& bounds) {
  const auto text = is_fenced && fenced() ? std::nullopt : TextForDevice(image.text, capability_);
  if (text) {
    const std::span bytes(reinterpret_cast<const uint8_t*>(text->data()), text->size());
    if (auto loaded = LoadNow(number, {.text = bytes, .code = bytes}, is_fenced, bounds)) return loaded;
  }
  return LoadNow(number, image, is_fenced, bounds);
}

tutti::Result<Modules::Loaded> Modules::LoadNow(uint32_t number, const Image& image, bool is_fenced,
                                                const Bounds& bounds) {
  {
    std::lock_guard lock(mutex_);
    if (modules_.contains(number)) return Fail(CUDA_ERROR_INVALID_HANDLE, "a module's number twice");
  }
  // Before the driver has taken the memory: others' kernels may keep it from giving that back.
  const ImageFacts facts = FactsOf(image.text, capability_);
  if (facts.is_unread && bounds.is_limit)
    return Fail(CUDA_ERROR_INVALID_IMAGE,
                "code for this device that cannot be read, as it has to be for a program with a memory limit");
  if (facts.variable_bytes > bounds.most_bytes)
    return Fail(CUDA_ERROR_OUT_OF_MEMORY, fmt::format("a module's variables take {} bytes, and {} are left",
                                                      facts.variable_bytes, bounds.most_bytes));
  std::vector<uint8_t> ended;
  if (image::KindOf(image.text) == image::ImageKind::kImageList) {  // what has been compiled is linked
    TUTTI_ASSIGN(ended, LinkList(vendor_, image.code));
  } else {
    ended.assign(image.code.begin(), image.code.end());
  }
  ended.push_back(0);  // the driver reads text to its end
  char error_log[kLogBytes] = {}, info_log[kLogBytes] = {};
  const auto as_word = [](size_t value) { return reinterpret_cast<void*>(value); };
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {info_log, as_word(sizeof info_log), error_log, as_word(sizeof error_log)};
  Module module;
  const CUresult status = vendor_.cuModuleLoadDataEx(&module.handle, ended.data(),
                                                     static_cast<unsigned>(std::size(options)), options, values);
  error_log[kLogBytes - 1] = info_log[kLogBytes - 1] = '\0';
  if (const Status loaded = vendor_.Check(status, "cuModuleLoadDataEx"); !loaded)
    return Fail(status, error_log[0] != '\0' ? std::string(error_log) : loaded.error().text);
  const uint64_t variables = std::max(BytesOfVariables(module.handle, facts), facts.variable_bytes);
  module.driver_bytes = ended.size() - 1 + variables;  // first: it may be unloaded below
  const Status entered = is_fenced && fenced() ? fence_->Enter(number, module.handle) : Status{};
  auto info = entered ? Describe(module, facts, is_fenced && fenced()) : std::unexpected(entered.error());
  // What fenced kernels print does not go by the driver.
  if (info && facts.prints && !(is_fenced && fenced())) prints_.store(true, std::memory_order_relaxed);
  if (!info) {
    if (fenced()) fence_->Leave(number);
    Drop(module);
    return std::unexpected(info.error());
  }
  std::lock_guard lock(mutex_);
  modules_.emplace(number, module);
  uint64_t described = 0;
  for (const module::MemoryRange& range : info->memory)
    if (range.address != 0) described += range.bytes;
  return Loaded{.info = std::move(*info),
                .log = info_log,
                .state = facts.state,
                .managed_bytes = module.managed_bytes,
                .other_bytes = facts.variable_bytes - std::min(facts.variable_bytes, described)};
}

// Of the device's memory, whoever may reach them.
uint64_t Modules::BytesOfVariables(CUmodule module, const ImageFacts& facts) const {
  uint64_t sum = 0;
  for (const auto& [name, is_managed] : facts.variables) {
    CUdeviceptr address = 0;
    size_t bytes = 0;
    if (vendor_.cuModuleGetGlobal_v2(&address, &bytes, module, name.c_str()) == CUDA_SUCCESS) sum += bytes;
  }
  return sum;
}

tutti::Result<module::ModuleInfo> Modules::Describe(Module& module, const ImageFacts& facts, bool takes_numbers) {
  unsigned count = 0;
  TUTTI_TRY(vendor_.Check(vendor_.cuModuleGetFunctionCount(&count, module.handle), "cuModuleGetFunctionCount"));
  std::vector<CUfunction> functions(count);
  if (count != 0) {
    TUTTI_TRY(vendor_.Check(vendor_.cuModuleEnumerateFunctions(functions.data(), count, module.handle),
                            "cuModuleEnumerateFunctions"));
  }
  module::ModuleInfo info;
  for (const CUfunction function : functions) {
    TUTTI_ASSIGN(module::KernelInfo kernel, Describe(function));
    if (const auto found = facts.kernels.find(kernel.name); found != facts.kernels.end()) {
      const module::KernelInfo& rules = found->second;
      std::ranges::copy(rules.required_block, kernel.required_block);
      std::ranges::copy(rules.required_cluster, kernel.required_cluster);
      kernel.max_cluster = rules.max_cluster;
      kernel.cluster_must_be_set |= rules.cluster_must_be_set;
    }
    std::optional<uint32_t> launch_offset;
    if (takes_numbers && facts.numbered.contains(kernel.name) && !kernel.params.empty()) {
      launch_offset = kernel.params.back().offset;
      kernel.params.pop_back();
      kernel.param_bytes = kernel.params.empty() ? 0 : kernel.params.back().offset + kernel.params.back().bytes;
    }
    if (facts.sets_conditions) {
      kernel.error =
          "a module that sets conditions of graphs (cudaGraphSetConditional) runs on a GPU if it has PTX of one "
          "translation unit: -gencode arch=compute_NN,code=compute_NN";
    }
    info.kernels.push_back(std::move(kernel));
    module.kernels.push_back({function, Attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
                              kPortableCluster, launch_offset});
  }
  AddVariables(module, facts, &info);
  TUTTI_TRY(AddManaged(facts, &module, &info));
  return info;
}

uint32_t Modules::Attribute(CUfunction function, CUfunction_attribute number) const {
  int value = 0;
  const bool known = vendor_.cuFuncGetAttribute(&value, number, function) == CUDA_SUCCESS;
  return known ? static_cast<uint32_t>(std::max(value, 0)) : 0;
}

tutti::Result<module::KernelInfo> Modules::Describe(CUfunction function) const {
  module::KernelInfo kernel;
  const char* name = nullptr;
  TUTTI_TRY(vendor_.Check(vendor_.cuFuncGetName(&name, function), "cuFuncGetName"));
  kernel.name = name;
  for (uint32_t i = 0; i < kMostParameters; ++i) {
    size_t offset = 0, bytes = 0;
    if (vendor_.cuFuncGetParamInfo(function, i, &offset, &bytes) != CUDA_SUCCESS) break;
    kernel.params.push_back({.offset = static_cast<uint32_t>(offset), .bytes = static_cast<uint32_t>(bytes)});
    kernel.param_bytes = std::max(kernel.param_bytes, static_cast<uint32_t>(offset + bytes));
  }
  const auto attribute = [&](CUfunction_attribute number) { return Attribute(function, number); };
  kernel.max_threads = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  kernel.static_shared_bytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  kernel.const_bytes = attribute(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  kernel.local_bytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  kernel.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  kernel.ptx_version = attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  kernel.binary_version = attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  kernel.cluster_must_be_set = attribute(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) != 0;
  for (int i = 0; i < 3; ++i)
    kernel.required_cluster[i] =
        attribute(static_cast<CUfunction_attribute>(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i));
  return kernel;
}

void Modules::AddVariables(const Module& module, const ImageFacts& facts, module::ModuleInfo* info) const {
  for (const auto& [name, is_managed] : facts.variables) {
    CUdeviceptr address = 0;
    size_t bytes = 0;
    // Nobody reaches these by name. Others than the fence's own names are the program's, and count.
    if (fenced() && name.starts_with(guest::kFencePrefix)) continue;
    const bool is_pointer = name.starts_with(guest::kManagedPrefix) &&
                            facts.managed.contains(name.substr(std::strlen(guest::kManagedPrefix)));
    if (is_pointer || facts.managed.contains(name)) continue;
    if (vendor_.cuModuleGetGlobal_v2(&address, &bytes, module.handle, name.c_str()) != CUDA_SUCCESS || bytes == 0)
      continue;
    info->variables.push_back({.name = name, .address = address, .bytes = bytes, .is_managed = is_managed});
    info->memory.push_back({.address = address, .bytes = bytes});
  }
}

Status Modules::AddManaged(const ImageFacts& facts, Module* module, module::ModuleInfo* info) const {
  constexpr uint64_t kLeastAlignment = 16;
  uint64_t most_alignment = kLeastAlignment;
  for (const auto& [name, alignment] : facts.managed) {
    most_alignment = std::max(most_alignment, alignment);
    Managed one{};
    size_t bytes = 0;
    TUTTI_TRY(
        vendor_.Check(vendor_.cuModuleGetGlobal_v2(&one.initial, &bytes, module->handle, name.c_str()), name.c_str()));
    one.bytes = bytes;
    const std::string pointer = guest::kManagedPrefix + name;
    TUTTI_TRY(vendor_.Check(vendor_.cuModuleGetGlobal_v2(&one.pointer, &bytes, module->handle, pointer.c_str()),
                            pointer.c_str()));
    if (bytes != sizeof(uint64_t)) return Fail(CUDA_ERROR_INVALID_PTX, "the name " + pointer + " is reserved");
    info->memory.push_back({.address = one.initial, .bytes = one.bytes});
    one.offset = AlignUp(module->managed_bytes, std::max(alignment, kLeastAlignment));
    module->managed_bytes = one.offset + one.bytes;
    info->variables.push_back({.name = name, .address = one.offset, .bytes = one.bytes, .is_managed = true});
    module->managed.push_back(one);
  }
  module->managed_bytes = AlignUp(module->managed_bytes, most_alignment);
  if (module->managed_bytes != 0) info->memory.push_back({.address = 0, .bytes = module->managed_bytes});
  return {};
}

Status Modules::PlaceManaged(uint32_t number, uint64_t address, bool fresh) {
  std::lock_guard lock(mutex_);
  const auto found = modules_.find(number);
  if (found == modules_.end()) return Fail(CUDA_ERROR_INVALID_HANDLE, fmt::format("there is no module {}", number));
  TUTTI_ASSIGN(const CUstream stream, CreateOwnStream(vendor_));
  const auto copy = [&](CUdeviceptr to, CUdeviceptr from, uint64_t bytes) {
    return vendor_.Check(vendor_.cuMemcpyAsync(to, from, bytes, stream), "cuMemcpyAsync");
  };
  std::vector<uint64_t> places;  // until the copies are done
  Status placed;
  for (const Managed& one : found->second.managed) places.push_back(address + one.offset);
  for (size_t i = 0; placed && i < places.size(); ++i) {
    const Managed& one = found->second.managed[i];
    placed = copy(one.pointer, reinterpret_cast<CUdeviceptr>(&places[i]), sizeof places[i]);
    if (placed && fresh) placed = copy(places[i], one.initial, one.bytes);
  }
  const Status done = vendor_.Check(vendor_.cuStreamSynchronize(stream), "cuStreamSynchronize");
  vendor_.cuStreamDestroy_v2(stream);
  return placed ? done : placed;
}

tutti::Result<bool> Modules::Unload(uint32_t number) {
  Module module;
  {
    std::lock_guard lock(mutex_);
    const auto found = modules_.find(number);
    if (found == modules_.end()) return Fail(CUDA_ERROR_INVALID_HANDLE, fmt::format("there is no module {}", number));
    module = std::move(found->second);
    modules_.erase(found);
  }
  // Without the lock, which launches want: the driver may wait for another program's kernel.
  tutti::Result<bool> unloaded = true;
  if (leftovers_ != nullptr)
    unloaded = leftovers_->Unload(this, module.handle, module.driver_bytes);
  else if (const Status now = UnloadNow(module); !now)
    unloaded = std::unexpected(now.error());
  if (!unloaded || *unloaded) {
    if (fenced()) fence_->Leave(number);
    return unloaded;
  }
  std::lock_guard lock(mutex_);
  modules_.emplace(number, std::move(module));
  return false;
}

Status Modules::UnloadNow(const Module& module) const {
  return vendor_.Check(vendor_.cuModuleUnload(module.handle), "cuModuleUnload");
}

void Modules::Drop(const Module& module) {
  if (leftovers_ == nullptr) return static_cast<void>(UnloadNow(module));
  bool gives_up = false;
  (void)leftovers_->UnloadInTheEnd(this, module.handle, module.driver_bytes,
                                   [&] { return gives_up = server_ >= 0 && os::HungUp(server_); });
  if (gives_up) dropped_.push_back(module);
}

Status Modules::UnloadAll() {
  Status unloaded;
  {
    std::lock_guard lock(mutex_);
    for (auto& [number, module] : modules_) dropped_.push_back(std::move(module));
    modules_.clear();
  }
  for (const Module& module : std::exchange(dropped_, {})) {
    const Status status = leftovers_ != nullptr
                              ? leftovers_->UnloadInTheEnd(nullptr, module.handle, module.driver_bytes)
                              : UnloadNow(module);
    if (unloaded && !status) unloaded = status;
  }
  if (leftovers_ != nullptr) leftovers_->Forget(this);
  return unloaded;
}

// The client has checked that its program allowed as much.
tutti::Result<Modules::Found> Modules::Find(uint32_t number, uint32_t kernel, uint32_t dynamic_shared_bytes,
                                            uint32_t cluster_blocks) {
  std::lock_guard lock(mutex_);
  const auto found = modules_.find(number);
  if (found == modules_.end() || kernel >= found->second.kernels.size())
    return Fail(CUDA_ERROR_INVALID_HANDLE, fmt::format("module {} has no kernel {}", number, kernel));
  Kernel& wanted = found->second.kernels[kernel];
  const auto allow = [&](CUfunction_attribute attribute, uint32_t value) {
    return vendor_.Check(vendor_.cuFuncSetAttribute(wanted.function, attribute, static_cast<int>(value)),
                         "cuFuncSetAttribute");
  };
  if (dynamic_shared_bytes > wanted.most_dynamic_shared_bytes) {
    TUTTI_TRY(allow(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic_shared_bytes));
    wanted.most_dynamic_shared_bytes = dynamic_shared_bytes;
  }
  if (cluster_blocks > wanted.most_cluster_blocks) {
    TUTTI_TRY(allow(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    wanted.most_cluster_blocks = ~0u;
  }
  return Found{.function = wanted.function, .launch_offset = wanted.launch_offset};
}

tutti::Result<uint32_t> Modules::BlocksPerSm(uint32_t number, uint32_t kernel, uint32_t block_threads,
                                             uint32_t dynamic_shared_bytes) {
  TUTTI_ASSIGN(const Found found, Find(number, kernel, dynamic_shared_bytes, 1));
  int blocks = 0;
  TUTTI_TRY(vendor_.Check(vendor_.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                              &blocks, found.function, static_cast<int>(block_threads), dynamic_shared_bytes),
                          "cuOccupancyMaxActiveBlocksPerMultiprocessor"));
  return static_cast<uint32_t>(std::max(blocks, 0));
}

}  // namespace tutti::executor
