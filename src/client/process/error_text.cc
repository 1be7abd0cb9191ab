#include "client/process/error_text.h"

#include "cuda/result.h"

namespace tutti::client {

const char* ErrorText(int result) {
  using namespace tutti::cuda;
  switch (result) {
    case CUDA_SUCCESS: return "no error";
    case CUDA_ERROR_INVALID_VALUE: return "an argument has a value that is not allowed";
    case CUDA_ERROR_OUT_OF_MEMORY: return "not enough memory";
    case CUDA_ERROR_NOT_INITIALIZED: return "cuInit has not succeeded in this process";
    case CUDA_ERROR_DEINITIALIZED: return "the driver is shutting down";
    case CUDA_ERROR_PROFILER_DISABLED: return "the profiler is switched off";
    case CUDA_ERROR_PROFILER_NOT_INITIALIZED: return "profiler not initialized";
    case CUDA_ERROR_PROFILER_ALREADY_STARTED: return "profiler already started";
    case CUDA_ERROR_PROFILER_ALREADY_STOPPED: return "profiler already stopped";
    case CUDA_ERROR_STUB_LIBRARY: return "stub library";
    case CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER: return "call requires newer driver";
    case CUDA_ERROR_DEVICE_UNAVAILABLE: return "the device is not available";
    case CUDA_ERROR_NO_DEVICE: return "there is no CUDA device";
    case CUDA_ERROR_INVALID_DEVICE: return "no such device";
    case CUDA_ERROR_DEVICE_NOT_LICENSED: return "device not licensed";
    case CUDA_ERROR_INVALID_IMAGE: return "the image of a module is not valid";
    case CUDA_ERROR_INVALID_CONTEXT: return "no context, or not a valid one";
    case CUDA_ERROR_CONTEXT_ALREADY_CURRENT: return "context already current";
    case CUDA_ERROR_MAP_FAILED: return "map failed";
    case CUDA_ERROR_UNMAP_FAILED: return "unmap failed";
    case CUDA_ERROR_ARRAY_IS_MAPPED: return "array is mapped";
    case CUDA_ERROR_ALREADY_MAPPED: return "already mapped";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
      return "the module has no PTX for this device to run; the log says what would help";
    case CUDA_ERROR_ALREADY_ACQUIRED: return "already acquired";
    case CUDA_ERROR_NOT_MAPPED: return "not mapped";
    case CUDA_ERROR_NOT_MAPPED_AS_ARRAY: return "not mapped as array";
    case CUDA_ERROR_NOT_MAPPED_AS_POINTER: return "not mapped as pointer";
    case CUDA_ERROR_ECC_UNCORRECTABLE: return "ecc uncorrectable";
    case CUDA_ERROR_UNSUPPORTED_LIMIT: return "no such limit";
    case CUDA_ERROR_CONTEXT_ALREADY_IN_USE: return "context already in use";
    case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED: return "peer access unsupported";
    case CUDA_ERROR_INVALID_PTX: return "the PTX cannot be compiled";
    case CUDA_ERROR_INVALID_GRAPHICS_CONTEXT: return "invalid graphics context";
    case CUDA_ERROR_NVLINK_UNCORRECTABLE: return "nvlink uncorrectable";
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND: return "the compiler could not be started";
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: return "the PTX is of a newer version than is supported";
    case CUDA_ERROR_JIT_COMPILATION_DISABLED: return "compilation is switched off";
    case CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY: return "this execution affinity is not supported";
    case CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC: return "unsupported devside sync";
    case CUDA_ERROR_CONTAINED: return "contained";
    case CUDA_ERROR_INVALID_SOURCE: return "the source of a kernel is not valid";
    case CUDA_ERROR_FILE_NOT_FOUND: return "the file cannot be found or read";
    case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND: return "shared object symbol not found";
    case CUDA_ERROR_SHARED_OBJECT_INIT_FAILED: return "shared object init failed";
    case CUDA_ERROR_OPERATING_SYSTEM: return "a call to the operating system failed";
    case CUDA_ERROR_INVALID_HANDLE: return "not a valid handle";
    case CUDA_ERROR_ILLEGAL_STATE: return "not possible in the present state";
    case CUDA_ERROR_LOSSY_QUERY: return "lossy query";
    case CUDA_ERROR_NOT_FOUND: return "the name was not found";
    case CUDA_ERROR_NOT_READY: return "not finished yet";
    case CUDA_ERROR_ILLEGAL_ADDRESS: return "a kernel accessed memory that it may not";
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: return "the launch asks for more resources than there are";
    case CUDA_ERROR_LAUNCH_TIMEOUT: return "a kernel ran for too long";
    case CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING: return "launch incompatible texturing";
    case CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED: return "peer access is enabled already";
    case CUDA_ERROR_PEER_ACCESS_NOT_ENABLED: return "peer access is not enabled";
    case CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE: return "the primary context is active";
    case CUDA_ERROR_CONTEXT_IS_DESTROYED: return "the context has been destroyed";
    case CUDA_ERROR_ASSERT: return "an assertion in a kernel failed";
    case CUDA_ERROR_TOO_MANY_PEERS: return "too many peers";
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED: return "the host memory is registered already";
    case CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED: return "the host memory is not registered";
    case CUDA_ERROR_HARDWARE_STACK_ERROR: return "a kernel overran its stack";
    case CUDA_ERROR_ILLEGAL_INSTRUCTION: return "a kernel ran an instruction that is not valid";
    case CUDA_ERROR_MISALIGNED_ADDRESS: return "a kernel accessed memory at an address that is not aligned";
    case CUDA_ERROR_INVALID_ADDRESS_SPACE: return "a kernel used an address of the wrong state space";
    case CUDA_ERROR_INVALID_PC: return "a kernel jumped to an address that is no code";
    case CUDA_ERROR_LAUNCH_FAILED: return "a kernel failed";
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
      return "the grid of a cooperative launch does not fit on the device at once";
    case CUDA_ERROR_TENSOR_MEMORY_LEAK: return "tensor memory leak";
    case CUDA_ERROR_NOT_PERMITTED: return "the operation is not permitted";
    case CUDA_ERROR_NOT_SUPPORTED: return "the operation is not supported";
    case CUDA_ERROR_SYSTEM_NOT_READY: return "the system is not ready for CUDA work";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: return "system driver mismatch";
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: return "compat not supported on device";
    case CUDA_ERROR_MPS_CONNECTION_FAILED: return "the control daemon could not be reached";
    case CUDA_ERROR_MPS_RPC_FAILURE: return "the server could not be reached";
    case CUDA_ERROR_MPS_SERVER_NOT_READY: return "the server is not ready for new clients";
    case CUDA_ERROR_MPS_MAX_CLIENTS_REACHED: return "the server has as many clients as it may";
    case CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED: return "the server has as many connections as it may";
    case CUDA_ERROR_MPS_CLIENT_TERMINATED: return "this client was terminated";
    case CUDA_ERROR_CDP_NOT_SUPPORTED: return "cdp not supported";
    case CUDA_ERROR_CDP_VERSION_MISMATCH: return "cdp version mismatch";
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: return "not possible while a stream is captured";
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: return "stream capture invalidated";
    case CUDA_ERROR_STREAM_CAPTURE_MERGE: return "stream capture merge";
    case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED: return "stream capture unmatched";
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED: return "stream capture unjoined";
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION: return "stream capture isolation";
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: return "stream capture implicit";
    case CUDA_ERROR_CAPTURED_EVENT: return "captured event";
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD: return "stream capture wrong thread";
    case CUDA_ERROR_TIMEOUT: return "it took too long";
    case CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE: return "graph exec update failure";
    case CUDA_ERROR_EXTERNAL_DEVICE: return "external device";
    case CUDA_ERROR_INVALID_CLUSTER_SIZE: return "the cluster size is not possible";
    case CUDA_ERROR_FUNCTION_NOT_LOADED: return "the function is not loaded";
    case CUDA_ERROR_INVALID_RESOURCE_TYPE: return "invalid resource type";
    case CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION: return "invalid resource configuration";
    case CUDA_ERROR_KEY_ROTATION: return "key rotation";
    case CUDA_ERROR_UNKNOWN: return "an error that is not known";
    default: return nullptr;
  }
}

}  // namespace tutti::client
