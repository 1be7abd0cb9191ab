#include "client/module/launch.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/copy/staging.h"
#include "client/memory/memory.h"
#include "client/module/library.h"
#include "client/session/printing.h"
#include "cuda/device_attribute.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;

// Whether any kernel of the device can have this grid and block.
bool FitsLimits(const Device& device, const LaunchShape& shape) {
  // Seven lookups per launch: reads the table directly, since Attribute() special-cases none of them.
  const int32_t* const limits = device.info().attributes;
  for (int i = 0; i < 3; ++i) {
    if (shape.grid[i] - 1 >= static_cast<uint32_t>(limits[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i])) return false;
    if (shape.block[i] - 1 >= static_cast<uint32_t>(limits[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i])) return false;
  }
  const uint64_t threads = uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  return threads <= static_cast<uint64_t>(limits[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK]);
}

// The slow path: reports which number of an invalid shape is wrong.
[[gnu::cold, gnu::noinline]] int ExplainShape(const Function& function, const LaunchShape& shape) {
  const Device& device = function.context().device();
  const std::string what =
      fmt::format("launch of {} with grid {}x{}x{} and block {}x{}x{}", function.info().name, shape.grid[0],
                  shape.grid[1], shape.grid[2], shape.block[0], shape.block[1], shape.block[2]);
  if (!FitsLimits(device, shape)) {
    Complain(CUDA_ERROR_INVALID_VALUE,
             "{}: a dimension is 0 or above the device's limit, or a block has over {} threads", what,
             device.Attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
    return kInvalidConfiguration;
  }
  const uint64_t threads = uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  if (threads > function.info().max_threads) {
    return Complain(CUDA_ERROR_INVALID_VALUE, "{}: the kernel takes {} threads per block at most", what,
                    function.info().max_threads);
  }
  if (shape.dynamic_shared_bytes > function.max_dynamic_shared()) {
    return Complain(CUDA_ERROR_INVALID_VALUE,
                    "{}: {} bytes of dynamic shared memory, {} are allowed (up to {} with {})", what,
                    shape.dynamic_shared_bytes, function.max_dynamic_shared(),
                    device.Attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
                    "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES");
  }
  const uint32_t(&required)[3] = function.info().required_block;
  return Complain(CUDA_ERROR_INVALID_VALUE, "{}: the kernel requires blocks of {}x{}x{}", what, required[0],
                  required[1], required[2]);
}

int CheckShape(const Function& function, const LaunchShape& shape) {
  const module::KernelInfo& info = function.info();
  const uint64_t threads = uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  const bool fits =
      FitsLimits(function.context().device(), shape) && threads <= info.max_threads &&
      shape.dynamic_shared_bytes <= function.max_dynamic_shared() &&
      (info.required_block[0] == 0 || std::memcmp(info.required_block, shape.block, sizeof shape.block) == 0);
  return fits ? CUDA_SUCCESS : ExplainShape(function, shape);
}

// A cooperative grid must fit on the device at once.
int CheckCooperative(const Context& context, const Function& function, const LaunchShape& shape) {
  const Device& device = function.context().device();
  const uint64_t threads = uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  const uint64_t blocks = uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
  const auto per_sm =
      device.Has(wire::kDeviceAsksOccupancy)
          ? function.AskedBlocksPerSm(static_cast<uint32_t>(threads), shape.dynamic_shared_bytes)
          : static_cast<uint64_t>(device.Attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)) / threads;
  const uint64_t sms = context.sm_count();
  if (blocks <= per_sm * sms) return CUDA_SUCCESS;
  return Complain(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "cooperative launch of {}: {} blocks, {} fit at once",
                  function.info().name, blocks, per_sm * sms);
}

// As the launch asks for it, or else as the kernel does.
int CheckCluster(const Function& function, const LaunchShape& shape) {
  const uint32_t rules = function.cluster_rules();
  uint32_t cluster[3], blocks = 1;
  const auto refuse = [&](std::string_view why) {
    return Complain(CUDA_ERROR_INVALID_CLUSTER_SIZE, "launch of {} with grid {}x{}x{} in clusters of {}x{}x{}: {}",
                    function.info().name, shape.grid[0], shape.grid[1], shape.grid[2], cluster[0], cluster[1],
                    cluster[2], why);
  };
  bool differs = false;
  for (unsigned i = 0; i < 3; ++i) {
    const uint32_t required = rules >> (8 * i) & 0xff;
    cluster[i] = shape.cluster[0] != 0 ? shape.cluster[i] : required;
    differs |= (rules & Function::kPackedCluster) != 0 && cluster[i] != required;
  }
  if (differs) return refuse("the kernel requires another one");
  if (shape.cluster[0] == 0 && (rules & Function::kPackedCluster) == 0) {
    return (rules & Function::kClusterMustBeSet) == 0 ? CUDA_SUCCESS
                                                      : refuse("the kernel must be launched in clusters");
  }
  const uint32_t most = function.max_cluster();
  for (unsigned i = 0; i < 3; ++i) {
    if (cluster[i] == 0 || cluster[i] > most) return refuse(fmt::format("up to {} blocks are allowed", most));
    if (shape.grid[i] % cluster[i] != 0) return refuse("they do not divide the grid");
    blocks *= cluster[i];
  }
  return blocks <= most ? CUDA_SUCCESS : refuse(fmt::format("up to {} blocks are allowed", most));
}

// Packs the parameters in the kernel's declared layout.
void Gather(const module::KernelInfo& info, void* const* parameters, uint8_t* out) {
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

int FillArguments(const module::KernelInfo& info, void* const* parameters, void* const* extra, uint8_t* out) {
  if (info.param_bytes == 0) return CUDA_SUCCESS;
  if (parameters != nullptr) {
    Gather(info, parameters, out);
    return CUDA_SUCCESS;
  }
  if (extra == nullptr)
    return Complain(CUDA_ERROR_INVALID_VALUE, "launch of {} without its {} bytes of parameters", info.name,
                    info.param_bytes);
  std::span<const uint8_t> buffer;
  CU_TRY(Unpack(extra, &buffer));
  // Kernels that take one large struct, and read only its beginning, are launched with as much as they read.
  const size_t given = std::min<size_t>(buffer.size(), info.param_bytes);
  std::memcpy(out, buffer.data(), given);
  std::memset(out + given, 0, info.param_bytes - given);
  return CUDA_SUCCESS;
}

// Arguments too long for the ring go into staging memory of the window.
[[gnu::noinline, gnu::cold]] int LaunchWithLongArguments(Stream& stream, const Function& function,
                                                         wire::LaunchBody& body, void* const* parameters,
                                                         void* const* extra) {
  const auto scratch = Staging::Get().Take(stream.context(), body.argument_bytes);
  if (!scratch) return CUDA_ERROR_OUT_OF_MEMORY;
  const int status = FillArguments(function.info(), parameters, extra, reinterpret_cast<uint8_t*>(scratch->address));
  if (status == 0) {
    body.flags |= wire::kLaunchArgumentsInWindow;
    stream.Submit(wire::RecordKind::kLaunch, body,
                  std::span(reinterpret_cast<const uint8_t*>(&scratch->address), sizeof scratch->address),
                  body.argument_bytes);
  }
  Staging::Get().GiveBack(*scratch, stream.LastMark());
  return status;
}

[[gnu::noinline, gnu::cold]] int AwaitLaunch(Stream& stream) {
  CU_TRY(stream.LastMark().Wait());
  DrainPrints();
  return stream.context().Check();
}

}  // namespace

Answer<Function*> ResolveFunction(CUfunction handle, Context& context) {
  if (Function* function = Function::Find(handle)) {
    if (&function->context() != &context.owner()) {
      return Refuse(Complain(CUDA_ERROR_INVALID_HANDLE, "kernel {} belongs to another context than the stream",
                             function->info().name));
    }
    return function;
  }
  Kernel* kernel = Kernel::Find(handle);
  if (kernel == nullptr)
    return Refuse(Complain(CUDA_ERROR_INVALID_HANDLE, "launch of {}, which is not a kernel", fmt::ptr(handle)));
  return kernel->In(context.owner());
}

int CheckLaunch(const Context& context, const Function& function, const LaunchShape& shape) {
  CU_TRY(CheckShape(function, shape));
  if (shape.cooperative) CU_TRY(CheckCooperative(context, function, shape));
  return (shape.cluster[0] | function.cluster_rules()) != 0 ? CheckCluster(function, shape) : CUDA_SUCCESS;
}

int PackArguments(const Function& function, void* const* parameters, void* const* extra, uint8_t* out) {
  if (parameters != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  return FillArguments(function.info(), parameters, extra, out);
}

wire::LaunchBody BodyOf(const Function& function, const LaunchShape& shape, uint32_t kernel) {
  return {.kernel = kernel,
          .grid = {shape.grid[0], shape.grid[1], shape.grid[2]},
          .block = {shape.block[0], shape.block[1], shape.block[2]},
          .dynamic_shared_bytes = shape.dynamic_shared_bytes,
          .flags = shape.cooperative ? wire::kLaunchCooperative : 0u,
          .argument_bytes = function.info().param_bytes,
          .cluster_packed = shape.cluster[0] | shape.cluster[1] << 8 | shape.cluster[2] << 16 |
                            (function.cluster_rules() & Function::kPackedCluster),
          .environment = shape.environment};
}

int Launch(Stream& stream, Function& function, const LaunchShape& shape, void* const* parameters, void* const* extra) {
  const module::KernelInfo& info = function.info();
  CU_TRY(CheckLaunch(stream.context(), function, shape));
  if (parameters != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const uint32_t kernel, function.Prepared({shape.block[0], shape.block[1], shape.block[2]}));

  wire::LaunchBody body = BodyOf(function, shape, kernel);
  if (info.param_bytes > wire::kInlineArgumentBytes)
    return LaunchWithLongArguments(stream, function, body, parameters, extra);
  uint8_t arguments[wire::kInlineArgumentBytes];
  CU_TRY(FillArguments(info, parameters, extra, arguments));
  stream.Submit(wire::RecordKind::kLaunch, body, std::span(arguments, info.param_bytes));
  return launches_block && !stream.never_blocks() ? AwaitLaunch(stream) : CUDA_SUCCESS;
}

}  // namespace tutti::client
