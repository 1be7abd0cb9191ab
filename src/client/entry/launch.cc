// Launches.
#include "client/module/launch.h"

#include <span>

#include "client/context/context.h"
#include "client/context/event.h"
#include "client/entry/called_stream.h"
#include "client/entry/entries.h"
#include "client/graph/capture.h"

namespace tutti::client::entry {
namespace {

CUresult LaunchIn(CUstream stream_handle, CUfunction function_handle, const LaunchShape& shape, void** parameters,
                  void** extra, uint64_t device_node = 0) {
  CU_ASSIGN(Stream* const stream, StreamOf(stream_handle));
  if (stream->capture() != nullptr) [[unlikely]] {
    CU_ASSIGN(KernelWork work, MakeKernelWork(function_handle, stream->context(), shape, parameters, extra));
    work.device_node = device_node;
    return Capture::Add(*stream, std::move(work));
  }
  CU_ASSIGN(Function* const function, ResolveFunction(function_handle, stream->context()));
  const int status = Launch(*stream, *function, shape, parameters, extra);
  // The runtime passes handles of library kernels, all others functions.
  if (status == kInvalidConfiguration && Function::Find(function_handle) != nullptr) return CUDA_ERROR_INVALID_VALUE;
  return status;
}

// Attributes that affect execution are applied, hints are accepted without effect, and unsupported mandatory ones are
// refused.
CUresult Apply(const CUlaunchAttribute& attribute, LaunchShape& shape) {
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: shape.cooperative = attribute.value.number != 0; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      shape.cluster[0] = attribute.value.clusterDim.x;
      shape.cluster[1] = attribute.value.clusterDim.y;
      shape.cluster[2] = attribute.value.clusterDim.z;
      return shape.cluster[0] != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE: {
      const int wanted = attribute.value.deviceUpdatableKernelNode.deviceUpdatable;
      return wanted == 0 || wanted == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    default:
      return attribute.id >= 0 && attribute.id <= CU_LAUNCH_ATTRIBUTE_LAST ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
}

// Events that a launch attribute requests are recorded at the kernel's end, which is no earlier than requested.
CUresult RecordEvents(std::span<const CUlaunchAttribute> attributes, CUstream stream) {
  for (const CUlaunchAttribute& attribute : attributes) {
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT &&
        attribute.id != CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
      continue;
    CU_TRY(cuEventRecord(attribute.value.eventAtLaunch.event, stream));
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                        CUstream stream, void** parameters, void** extra) {
  const LaunchShape shape{
      .grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .dynamic_shared_bytes = shared_bytes};
  return LaunchIn(stream, function, shape, parameters, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                   unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                   unsigned int shared_bytes, CUstream stream, void** parameters) {
  const LaunchShape shape{.grid = {grid_x, grid_y, grid_z},
                          .block = {block_x, block_y, block_z},
                          .dynamic_shared_bytes = shared_bytes,
                          .cooperative = true};
  return LaunchIn(stream, function, shape, parameters, nullptr);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  LaunchShape shape{.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                    .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                    .dynamic_shared_bytes = config->sharedMemBytes};
  const std::span<const CUlaunchAttribute> attributes(config->attrs, config->numAttrs);
  for (const CUlaunchAttribute& attribute : attributes) CU_TRY(Apply(attribute, shape));
  CUlaunchAttribute* updatable = nullptr;
  for (CUlaunchAttribute& attribute : std::span(config->attrs, config->numAttrs)) {
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE &&
        attribute.value.deviceUpdatableKernelNode.deviceUpdatable == 1)
      updatable = &attribute;
  }
  uint64_t device_node = 0;
  if (updatable != nullptr) {
    CU_ASSIGN(Stream* const stream, StreamOf(config->hStream));
    if (stream->capture() == nullptr) return CUDA_ERROR_INVALID_VALUE;
    device_node = NewDeviceNode();
  }
  CU_TRY(LaunchIn(config->hStream, function, shape, parameters, extra, device_node));
  if (updatable != nullptr) updatable->value.deviceUpdatableKernelNode.devNode = reinterpret_cast<void*>(device_node);
  return RecordEvents(attributes, config->hStream);
}

}  // namespace tutti::client::entry
