// Rules: cuda.h of CUDA 13.0, at the functions that are named.
#include "vendor_strict/work_rules.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "cuda/device_attribute.h"
#include "vendor_strict/breach.h"
#include "vendor_strict/true_driver.h"

namespace tutti::gpu::strict {

using namespace cuda;

namespace {

constexpr std::string_view kList = "ILST", kMachineCode = "LNKD";  // as what images begin
constexpr int kStaticLimit = 48 << 10;  // of shared memory that needs no attribute, with the static (programming guide)

int DeviceAttribute(int number) {
  int value = 0;
  True().cuDeviceGetAttribute(&value, number, 0);
  return value;
}

int FunctionAttribute(CUfunction function, CUfunction_attribute number) {
  int value = 0;
  True().cuFuncGetAttribute(&value, number, function);
  return value;
}

}  // namespace

WorkRules& WorkRules::Get() {
  static auto* const rules = new WorkRules;
  return *rules;
}

void WorkRules::Note(const void* handle) {
  const std::lock_guard lock(mutex_);
  handles_.insert(handle);
}

int WorkRules::CheckHandle(const char* call, const void* handle) {
  const std::lock_guard lock(mutex_);
  if (handles_.contains(handle)) return CUDA_SUCCESS;
  return Breach("handles-are-alive", CUDA_ERROR_INVALID_HANDLE, call);
}

int WorkRules::End(const char* call, const void* handle) {
  const std::lock_guard lock(mutex_);
  recorded_.erase(handle);
  timed_.erase(handle);
  std::erase_if(launched_in_, [handle](const CUstream stream) { return stream == handle; });
  if (handles_.erase(handle) != 0) return CUDA_SUCCESS;
  return Breach("handles-are-alive", CUDA_ERROR_INVALID_HANDLE, call);
}

void WorkRules::NoteEvent(const void* event, bool has_time) {
  Note(event);
  const std::lock_guard lock(mutex_);
  if (has_time) timed_.insert(event);
}

int WorkRules::CheckTime(const void* event) {
  const std::lock_guard lock(mutex_);
  if (timed_.contains(event) && recorded_.contains(event)) return CUDA_SUCCESS;
  return Breach("times-are-of-events-that-have-some", CUDA_ERROR_INVALID_HANDLE, "cuEventElapsedTime");
}

void WorkRules::NoteRecorded(const void* event) {
  const std::lock_guard lock(mutex_);
  recorded_.insert(event);
}

bool WorkRules::IsRecorded(const void* event) {
  const std::lock_guard lock(mutex_);
  return recorded_.contains(event);
}

// CUjit_option: each names the type of its value, which stands in the pointer itself where it is a number.
int WorkRules::CheckJitOptions(const char* call, unsigned count, const CUjit_option* options, void* const* values) {
  constexpr size_t kMostLog = 1 << 30;
  for (unsigned i = 0; i < count; ++i) {
    const auto word = reinterpret_cast<uintptr_t>(values[i]);
    const bool is_size =
        options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES || options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
    const bool is_buffer = options[i] == CU_JIT_INFO_LOG_BUFFER || options[i] == CU_JIT_ERROR_LOG_BUFFER;
    if ((!is_size && !is_buffer) || (is_size && word > kMostLog) || (is_buffer && word < 4096))
      return Breach("options-of-jit-are-numbers-or-buffers", CUDA_ERROR_INVALID_VALUE, call);
  }
  return CUDA_SUCCESS;
}

// cuLinkAddData: PTX ends with a 0 byte.
int WorkRules::CheckLinkInput(const void* data, size_t bytes, int type) {
  if (data != nullptr && bytes != 0 && (type != CU_JIT_INPUT_PTX || static_cast<const char*>(data)[bytes - 1] == '\0'))
    return CUDA_SUCCESS;
  return Breach("linked-text-ends-with-nul", CUDA_ERROR_INVALID_VALUE, "cuLinkAddData");
}

// Our own driver takes several images in one, a list, and makes lists as it links. No other driver knows them.
void* WorkRules::Linked(CUlinkState state, const void* code, size_t bytes) {
  const std::lock_guard lock(mutex_);
  std::string& linked = linked_[state];
  linked.assign(static_cast<const char*>(code), bytes);
  if (linked.starts_with(kList)) linked.replace(0, kMachineCode.size(), kMachineCode);
  return linked.data();
}

void WorkRules::ForgetLinked(CUlinkState state) {
  const std::lock_guard lock(mutex_);
  linked_.erase(state);
}

int WorkRules::CheckImage(const void** image, std::string* own) {
  const auto* const bytes = static_cast<const char*>(*image);
  if (strncmp(bytes, kList.data(), kList.size()) == 0)
    return Breach("images-are-of-known-kinds", CUDA_ERROR_INVALID_IMAGE, "cuModuleLoadDataEx");
  if (strncmp(bytes, kMachineCode.data(), kMachineCode.size()) != 0) return CUDA_SUCCESS;
  // A list says itself how long it is: a number of images, each with its size in front and filled up to 8 bytes.
  uint32_t count = 0;
  std::memcpy(&count, bytes + kList.size(), sizeof count);
  size_t end = kList.size() + sizeof count;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t size = 0;
    std::memcpy(&size, bytes + end, sizeof size);
    end += sizeof size + (size + 7) / 8 * 8;
  }
  own->assign(bytes, end);
  own->replace(0, kList.size(), kList);
  *image = own->data();
  return CUDA_SUCCESS;
}

void WorkRules::ForgetFunctions(CUmodule module) {
  unsigned count = 0;
  if (True().cuModuleGetFunctionCount(&count, module) != CUDA_SUCCESS) return;
  std::vector<CUfunction> functions(count);
  if (True().cuModuleEnumerateFunctions(functions.data(), count, module) != CUDA_SUCCESS) return;
  const std::lock_guard lock(mutex_);
  for (CUfunction function : functions) functions_.erase(function);
}

WorkRules::Function& WorkRules::Of(CUfunction function) {
  const auto [at, is_new] = functions_.try_emplace(function);
  Function& known = at->second;
  if (!is_new) return known;
  size_t offset = 0, bytes = 0;
  for (size_t i = 0; True().cuFuncGetParamInfo(function, i, &offset, &bytes) == CUDA_SUCCESS; ++i)
    known.parameter_bytes = offset + bytes;
  known.static_shared = FunctionAttribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  known.most_threads = FunctionAttribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  known.most_dynamic_shared = std::max(kStaticLimit - known.static_shared, 0);
  return known;
}

int WorkRules::MostDynamicShared(CUfunction function) {
  const std::lock_guard lock(mutex_);
  return Of(function).most_dynamic_shared;
}

int WorkRules::CheckFunctionAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  const std::lock_guard lock(mutex_);
  Function& known = Of(function);
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    // Static and dynamic memory together are at most what a block may opt into
    // (CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN).
    if (value < 0 ||
        value + known.static_shared > DeviceAttribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))
      return Breach("shared-memory-is-what-a-block-may-have", CUDA_ERROR_INVALID_VALUE, "cuFuncSetAttribute");
    known.most_dynamic_shared = value;
    return CUDA_SUCCESS;
  }
  if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED && (value == 0 || value == 1)) {
    known.wide_clusters = value == 1;
    return CUDA_SUCCESS;
  }
  return Breach("attributes-that-are-set-may-be", CUDA_ERROR_INVALID_VALUE, "cuFuncSetAttribute");
}

int WorkRules::CheckLaunch(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  const std::lock_guard lock(mutex_);
  const Function& known = Of(function);
  const auto refuse = [](const char* rule) { return Breach(rule, CUDA_ERROR_INVALID_VALUE, "cuLaunchKernelEx"); };
  const uint64_t threads = uint64_t{config->blockDimX} * config->blockDimY * config->blockDimZ;
  const uint64_t blocks = uint64_t{config->gridDimX} * config->gridDimY * config->gridDimZ;
  if (threads == 0 || blocks == 0) return refuse("grids-are-not-empty");
  if (threads > static_cast<uint64_t>(known.most_threads)) return refuse("blocks-are-what-a-kernel-may-have");
  // Above it cudaFuncSetAttribute is needed (programming guide, Shared Memory).
  if (config->sharedMemBytes > static_cast<unsigned>(known.most_dynamic_shared))
    return refuse("dynamic-shared-memory-is-allowed-first");
  // `extra`: names of CU_LAUNCH_PARAM_, to CU_LAUNCH_PARAM_END. Parameters come one way or the other, not both.
  if (parameters != nullptr) return refuse("parameters-come-one-way");
  size_t bytes = 0;
  for (void** word = extra; word != nullptr && *word != nullptr; word += 2) {
    if (reinterpret_cast<uintptr_t>(*word) == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<size_t*>(word[1]);
  }
  if (bytes < known.parameter_bytes) return refuse("a-kernels-parameters-are-all-there");
  for (const CUlaunchAttribute& attribute : std::span(config->attrs, config->numAttrs)) {
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    constexpr unsigned kPortable = 8;
    // A cluster that cannot be is an error of its own.
    const auto& cluster = attribute.value.clusterDim;
    if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0 || config->gridDimX % cluster.x != 0 ||
        config->gridDimY % cluster.y != 0 || config->gridDimZ % cluster.z != 0 ||
        (cluster.x * cluster.y * cluster.z > kPortable && !known.wide_clusters))
      return refuse("clusters-fit-their-grid");
  }
  launched_what_prints_ |= may_print_;
  return CUDA_SUCCESS;
}

// Text, where it can be read: which module a function is of is not said.
void WorkRules::NoteModule(CUmodule module, const void* image) {
  Note(module);
  const auto* const text = static_cast<const char*>(image);
  if (std::strncmp(text,
                   "\x7f"
                   "ELF",
                   4) == 0 ||
      static_cast<unsigned char>(text[0]) > 0x7f)
    return;
  const bool prints = std::string_view(text).find("vprintf") != std::string_view::npos;
  const std::lock_guard lock(mutex_);
  may_print_ |= prints;
}

// The printf FIFO has its size before a kernel is launched that prints.
int WorkRules::CheckLimit(CUlimit limit) {
  const std::lock_guard lock(mutex_);
  if (limit != CU_LIMIT_PRINTF_FIFO_SIZE || !launched_what_prints_) return CUDA_SUCCESS;
  return Breach("what-prints-has-its-fifo-first", CUDA_ERROR_INVALID_VALUE, "cuCtxSetLimit");
}

void WorkRules::NoteLaunch(CUstream stream) {
  const std::lock_guard lock(mutex_);
  launched_in_.insert(stream);
}

void WorkRules::AwaitKernels(CUstream stream) {
  const std::lock_guard lock(mutex_);
  for (CUstream other : launched_in_) {
    CUevent event = nullptr;
    if (other == stream || True().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) continue;
    if (True().cuEventRecord(event, other) == CUDA_SUCCESS) True().cuStreamWaitEvent(stream, event, 0);
    True().cuEventDestroy_v2(event);
  }
}

}  // namespace tutti::gpu::strict
