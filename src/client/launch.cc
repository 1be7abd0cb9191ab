#include "client/launch.h"

#include <cstring>
#include <span>

#include "client/context.h"
#include "client/library.h"
#include "client/memory.h"
#include "client/staging.h"
#include "cuda/device_attribute.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;

int CheckShape(const Function& function, const LaunchShape& shape) {
  const Device& device = function.context().device();
  for (int i = 0; i < 3; ++i) {
    if (shape.grid[i] == 0 || shape.grid[i] > static_cast<uint32_t>(device.Attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i)) ||
        shape.block[i] == 0 || shape.block[i] > static_cast<uint32_t>(device.Attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i))) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  const uint64_t threads = uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  if (threads > static_cast<uint64_t>(device.Attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK))) return CUDA_ERROR_INVALID_VALUE;
  if (threads > function.info().max_threads) return CUDA_ERROR_INVALID_VALUE;
  const uint32_t(&required)[3] = function.info().required_block;
  if (required[0] != 0 && std::memcmp(required, shape.block, sizeof required) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (shape.dynamic_shared_bytes > function.max_dynamic_shared()) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

// A cooperative grid must fit on the device at once.
int CheckCooperative(const Function& function, const LaunchShape& shape) {
  const Device& device = function.context().device();
  const uint64_t threads = uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  const uint64_t blocks = uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
  const auto per_sm = static_cast<uint64_t>(device.Attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)) / threads;
  const auto sms = static_cast<uint64_t>(device.Attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  return blocks > per_sm * sms ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}

int CheckCluster(const LaunchShape& shape) {
  for (int i = 0; i < 3; ++i) {
    if (shape.cluster[i] == 0 || shape.cluster[i] > 255 || shape.grid[i] % shape.cluster[i] != 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  return CUDA_SUCCESS;
}

// Lays the parameters out as the kernel declares them.
void Gather(const guest::KernelInfo& info, void* const* parameters, uint8_t* out) {
  for (size_t i = 0; i < info.params.size(); ++i) {
    std::memcpy(out + info.params[i].offset, parameters[i], info.params[i].bytes);
  }
}

// The packed buffer that `extra` names.
int Unpack(void* const* extra, std::span<const uint8_t>* buffer) {
  const void* data = nullptr;
  size_t bytes = 0;
  for (; reinterpret_cast<uintptr_t>(*extra) != CU_LAUNCH_PARAM_END; extra += 2) {
    const auto word = reinterpret_cast<uintptr_t>(extra[0]);
    if (word == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      data = extra[1];
    } else if (word == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != nullptr) {
      bytes = *static_cast<const size_t*>(extra[1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (data == nullptr && bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  *buffer = {static_cast<const uint8_t*>(data), bytes};
  return CUDA_SUCCESS;
}

int FillArguments(const guest::KernelInfo& info, void* const* parameters, void* const* extra, uint8_t* out) {
  if (info.param_bytes == 0) return CUDA_SUCCESS;
  if (parameters != nullptr) {
    Gather(info, parameters, out);
    return CUDA_SUCCESS;
  }
  if (extra == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::span<const uint8_t> buffer;
  CU_TRY(Unpack(extra, &buffer));
  if (buffer.size() < info.param_bytes) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(out, buffer.data(), info.param_bytes);
  return CUDA_SUCCESS;
}

// Arguments too long for the ring are placed in scratch memory of the window.
[[gnu::noinline, gnu::cold]] int LaunchWithLongArguments(Stream& stream, const Function& function, wire::LaunchBody& body,
                                                         void* const* parameters, void* const* extra) {
  const auto scratch = Staging::Get().Take(stream.context(), body.argument_bytes);
  if (!scratch) return CUDA_ERROR_OUT_OF_MEMORY;
  const int status = FillArguments(function.info(), parameters, extra, reinterpret_cast<uint8_t*>(scratch->address));
  if (status == 0) {
    body.flags |= wire::kLaunchArgumentsInWindow;
    stream.Submit(wire::RecordKind::kLaunch, body, std::span(reinterpret_cast<const uint8_t*>(&scratch->address), sizeof scratch->address));
  }
  Staging::Get().GiveBack(*scratch, stream.LastMark());
  return status;
}

}  // namespace

Answer<Function*> ResolveFunction(CUfunction handle, Context& context) {
  if (Function* function = Function::Find(handle)) {
    if (&function->context() != &context) return Refuse(CUDA_ERROR_INVALID_HANDLE);
    return function;
  }
  Kernel* kernel = Kernel::Find(handle);
  if (kernel == nullptr) return Refuse(CUDA_ERROR_INVALID_HANDLE);
  return kernel->In(context);
}

int Launch(Stream& stream, Function& function, const LaunchShape& shape, void* const* parameters, void* const* extra) {
  const guest::KernelInfo& info = function.info();
  CU_TRY(CheckShape(function, shape));
  if (parameters != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (shape.cooperative) CU_TRY(CheckCooperative(function, shape));
  if (shape.cluster[0] != 0) CU_TRY(CheckCluster(shape));
  CU_ASSIGN(const uint32_t kernel, function.Prepared({shape.block[0], shape.block[1], shape.block[2]}));

  wire::LaunchBody body{.kernel = kernel,
                        .grid = {shape.grid[0], shape.grid[1], shape.grid[2]},
                        .block = {shape.block[0], shape.block[1], shape.block[2]},
                        .dynamic_shared_bytes = shape.dynamic_shared_bytes,
                        .flags = shape.cooperative ? wire::kLaunchCooperative : 0u,
                        .argument_bytes = info.param_bytes,
                        .cluster_packed = shape.cluster[0] | shape.cluster[1] << 8 | shape.cluster[2] << 16};
  if (info.param_bytes > wire::kInlineArgumentBytes) return LaunchWithLongArguments(stream, function, body, parameters, extra);
  uint8_t arguments[wire::kInlineArgumentBytes];
  CU_TRY(FillArguments(info, parameters, extra, arguments));
  stream.Submit(wire::RecordKind::kLaunch, body, std::span(arguments, info.param_bytes));
  return CUDA_SUCCESS;
}

}  // namespace tutti::client
