#include "executor/modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "image/ptx_selection.h"
#include "ptx/parser.h"

namespace tutti::executor {
namespace {

using namespace cuda;

constexpr uint32_t kSharedWithoutAsking = 48 << 10;
constexpr size_t kLogBytes = 16 << 10;
constexpr uint32_t kMostParameters = 4096;  // of a kernel; its buffer has less than 32 KiB

// Of the variables that a program can name. The vendor's driver finds them by their names only.
std::set<std::string> VariableNames(std::span<const uint8_t> image) {
  std::set<std::string> names;
  const auto texts = image::SelectPtx(image);
  if (!texts) return names;
  for (const image::PtxText& text : *texts) {
    const auto parsed = ptx::Parse(text.text);
    if (!parsed) continue;
    for (const ptx::Variable& variable : parsed->variables) {
      if (variable.space == ptx::StateSpace::kGlobal || variable.space == ptx::StateSpace::kConst)
        names.insert(variable.name);
    }
  }
  return names;
}

}  // namespace

tutti::Result<Modules::Loaded> Modules::Load(uint32_t number, std::span<const uint8_t> image) {
  // The driver reads text to its end.
  std::vector<uint8_t> ended(image.begin(), image.end());
  ended.push_back(0);
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
  auto info = Describe(module, image);
  if (!info) {
    vendor_.cuModuleUnload(module.handle);
    return std::unexpected(info.error());
  }
  std::lock_guard lock(mutex_);
  if (!modules_.emplace(number, std::move(module)).second)
    return Fail(CUDA_ERROR_INVALID_HANDLE, "a module's number twice");
  return Loaded{.info = std::move(*info), .log = info_log};
}

tutti::Result<module::ModuleInfo> Modules::Describe(Module& module, std::span<const uint8_t> image) {
  unsigned count = 0;
  TUTTI_TRY(vendor_.Check(vendor_.cuModuleGetFunctionCount(&count, module.handle), "cuModuleGetFunctionCount"));
  std::vector<CUfunction> functions(count);
  TUTTI_TRY(vendor_.Check(vendor_.cuModuleEnumerateFunctions(functions.data(), count, module.handle),
                          "cuModuleEnumerateFunctions"));
  module::ModuleInfo info;
  for (const CUfunction function : functions) {
    TUTTI_ASSIGN(module::KernelInfo kernel, Describe(function));
    info.kernels.push_back(std::move(kernel));
    module.kernels.push_back({function, 0});
  }
  TUTTI_TRY(AddVariables(module, image, &info));
  return info;
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
  const auto attribute = [&](CUfunction_attribute number) {
    int value = 0;
    return vendor_.cuFuncGetAttribute(&value, number, function) == CUDA_SUCCESS ? static_cast<uint32_t>(value) : 0u;
  };
  kernel.max_threads = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  kernel.static_shared_bytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  kernel.const_bytes = attribute(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  kernel.local_bytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  kernel.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  kernel.ptx_version = attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  kernel.binary_version = attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  return kernel;
}

Status Modules::AddVariables(const Module& module, std::span<const uint8_t> image, module::ModuleInfo* info) const {
  for (const std::string& name : VariableNames(image)) {
    CUdeviceptr address = 0;
    size_t bytes = 0;
    if (vendor_.cuModuleGetGlobal_v2(&address, &bytes, module.handle, name.c_str()) != CUDA_SUCCESS || bytes == 0)
      continue;
    info->variables.push_back({.name = name, .address = address, .bytes = bytes});
    info->memory.push_back({.address = address, .bytes = bytes});
  }
  return {};
}

Status Modules::Unload(uint32_t number) {
  std::lock_guard lock(mutex_);
  const auto found = modules_.find(number);
  if (found == modules_.end()) return Fail(CUDA_ERROR_INVALID_HANDLE, fmt::format("there is no module {}", number));
  const CUmodule handle = found->second.handle;
  modules_.erase(found);
  return vendor_.Check(vendor_.cuModuleUnload(handle), "cuModuleUnload");
}

tutti::Result<CUfunction> Modules::Find(uint32_t number, uint32_t kernel, uint32_t dynamic_shared_bytes) {
  std::lock_guard lock(mutex_);
  const auto found = modules_.find(number);
  if (found == modules_.end() || kernel >= found->second.kernels.size())
    return Fail(CUDA_ERROR_INVALID_HANDLE, fmt::format("module {} has no kernel {}", number, kernel));
  Kernel& wanted = found->second.kernels[kernel];
  if (dynamic_shared_bytes > kSharedWithoutAsking && dynamic_shared_bytes > wanted.dynamic_shared_bytes) {
    TUTTI_TRY(vendor_.Check(vendor_.cuFuncSetAttribute(wanted.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                       static_cast<int>(dynamic_shared_bytes)),
                            "cuFuncSetAttribute"));
    wanted.dynamic_shared_bytes = dynamic_shared_bytes;
  }
  return wanted.function;
}

tutti::Result<uint32_t> Modules::BlocksPerSm(uint32_t number, uint32_t kernel, uint32_t block_threads,
                                             uint32_t dynamic_shared_bytes) {
  TUTTI_ASSIGN(const CUfunction function, Find(number, kernel, dynamic_shared_bytes));
  int blocks = 0;
  TUTTI_TRY(vendor_.Check(vendor_.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                              &blocks, function, static_cast<int>(block_threads), dynamic_shared_bytes),
                          "cuOccupancyMaxActiveBlocksPerMultiprocessor"));
  return static_cast<uint32_t>(std::max(blocks, 0));
}

}  // namespace tutti::executor
