// A libcuda.so.1 for executors that does what another one does, under the rules of the vendor's documentation: what
// Tutti's own driver lets pass and the vendor's does not is refused here, as the vendor's refuses it, and noted
// (vendor_strict/breach.h). It says of itself that it is none of ours, so executors do with it what they do with the
// vendor's.
//
// Calls that a rule is of have a Do of their own below; the others are passed on. All are under two rules: a context is
// current in the thread where the call needs one, and after an error of a kernel every call that may say so does.
#include <atomic>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "client/process/arguments.h"
#include "cuda/device_attribute.h"
#include "vendor_strict/address_rules.h"
#include "vendor_strict/array_rules.h"
#include "vendor_strict/breach.h"
#include "vendor_strict/memory_rules.h"
#include "vendor_strict/true_driver.h"
#include "vendor_strict/work_rules.h"

namespace tutti::gpu::strict {

using namespace cuda;

namespace {

enum class Symbol {
#define CU_VENDOR(symbol, need, types) symbol,
#include "executor/vendor.def"
#undef CU_VENDOR
};
template <Symbol S>
struct Of {};

std::atomic<int> sticky{0};
thread_local CUcontext current = nullptr;
thread_local bool in_host_function = false;

// CUresult: those behind which a process is to end.
bool IsSticky(int status) {
  return status == CUDA_ERROR_ILLEGAL_ADDRESS || status == CUDA_ERROR_LAUNCH_TIMEOUT || status == CUDA_ERROR_ASSERT ||
         status == CUDA_ERROR_ECC_UNCORRECTABLE || status == CUDA_ERROR_CONTAINED ||
         (status >= CUDA_ERROR_HARDWARE_STACK_ERROR && status <= CUDA_ERROR_LAUNCH_FAILED);
}

constexpr bool NeedsNoContext(Symbol symbol) {
  switch (symbol) {
    case Symbol::cuInit:
    case Symbol::cuDriverGetVersion:
    case Symbol::cuGetErrorName:
    case Symbol::cuDeviceGetCount:
    case Symbol::cuDeviceGet:
    case Symbol::cuDeviceGetName:
    case Symbol::cuDeviceGetUuid_v2:
    case Symbol::cuDeviceGetAttribute:
    case Symbol::cuDeviceTotalMem_v2:
    case Symbol::cuDevicePrimaryCtxSetFlags_v2:
    case Symbol::cuDevicePrimaryCtxRetain:
    case Symbol::cuMemGetAllocationGranularity:
    case Symbol::cuCtxSetCurrent: return true;
    default: return false;
  }
}

// No INVALID_CONTEXT stands among what these return, nor that they say what went wrong before.
constexpr bool IsOfAddresses(Symbol symbol) {
  switch (symbol) {
    case Symbol::cuMemAddressReserve:
    case Symbol::cuMemAddressFree:
    case Symbol::cuMemExportToShareableHandle:
    case Symbol::cuMemImportFromShareableHandle: return true;
    default: return false;
  }
}

AddressRules& addresses() { return AddressRules::Get(); }
ArrayRules& arrays() { return ArrayRules::Get(); }
MemoryRules& memory() { return MemoryRules::Get(); }
WorkRules& work() { return WorkRules::Get(); }

#define TRY_RULE(expression) \
  if (const int refused = (expression); refused != CUDA_SUCCESS) return refused

// Registered memory is shown to the device where the host has it (vendor_strict/memory_rules.h).
int Do(Of<Symbol::cuDeviceGetAttribute>, int* value, CUdevice_attribute attribute, CUdevice device) {
  const CUresult got = True().cuDeviceGetAttribute(value, attribute, device);
  if (got == CUDA_SUCCESS && attribute == CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) *value = 1;
  return got;
}
int Do(Of<Symbol::cuCtxSetCurrent>, CUcontext context) {
  const CUresult set = True().cuCtxSetCurrent(context);
  if (set == CUDA_SUCCESS) current = context;
  return set;
}
int Do(Of<Symbol::cuCtxSetLimit>, CUlimit limit, size_t bytes) {
  TRY_RULE(work().CheckLimit(limit));
  return True().cuCtxSetLimit(limit, bytes);
}

int Do(Of<Symbol::cuModuleLoadDataEx>, CUmodule* module, const void* image, unsigned count, CUjit_option* options,
       void** values) {
  TRY_RULE(work().CheckJitOptions("cuModuleLoadDataEx", count, options, values));
  std::string own;
  TRY_RULE(work().CheckImage(&image, &own));
  const CUresult loaded = True().cuModuleLoadDataEx(module, image, count, options, values);
  if (loaded == CUDA_SUCCESS) work().NoteModule(*module, image);
  return loaded;
}
int Do(Of<Symbol::cuModuleUnload>, CUmodule module) {
  TRY_RULE(work().End("cuModuleUnload", module));
  work().ForgetFunctions(module);
  return True().cuModuleUnload(module);
}
int Do(Of<Symbol::cuLinkCreate_v2>, unsigned count, CUjit_option* options, void** values, CUlinkState* state) {
  TRY_RULE(work().CheckJitOptions("cuLinkCreate", count, options, values));
  const CUresult created = True().cuLinkCreate_v2(count, options, values, state);
  if (created == CUDA_SUCCESS) work().Note(*state);
  return created;
}
int Do(Of<Symbol::cuLinkAddData_v2>, CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char* name,
       unsigned count, CUjit_option* options, void** values) {
  TRY_RULE(work().CheckHandle("cuLinkAddData", state));
  TRY_RULE(work().CheckLinkInput(data, bytes, type));
  return True().cuLinkAddData_v2(state, type, data, bytes, name, count, options, values);
}
int Do(Of<Symbol::cuLinkComplete>, CUlinkState state, void** code, size_t* bytes) {
  TRY_RULE(work().CheckHandle("cuLinkComplete", state));
  const CUresult linked = True().cuLinkComplete(state, code, bytes);
  if (linked == CUDA_SUCCESS) *code = work().Linked(state, *code, *bytes);
  return linked;
}
int Do(Of<Symbol::cuLinkDestroy>, CUlinkState state) {
  TRY_RULE(work().End("cuLinkDestroy", state));
  work().ForgetLinked(state);
  return True().cuLinkDestroy(state);
}
int Do(Of<Symbol::cuFuncGetAttribute>, int* value, CUfunction_attribute attribute, CUfunction function) {
  const CUresult got = True().cuFuncGetAttribute(value, attribute, function);
  if (got == CUDA_SUCCESS && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    *value = work().MostDynamicShared(function);
  return got;
}
int Do(Of<Symbol::cuFuncSetAttribute>, CUfunction function, CUfunction_attribute attribute, int value) {
  TRY_RULE(work().CheckFunctionAttribute(function, attribute, value));
  return True().cuFuncSetAttribute(function, attribute, value);
}
int Do(Of<Symbol::cuLaunchKernelEx>, const CUlaunchConfig* config, CUfunction function, void** parameters,
       void** extra) {
  TRY_RULE(work().CheckHandle("cuLaunchKernelEx", config->hStream));
  TRY_RULE(work().CheckLaunch(config, function, parameters, extra));
  if (Has("fills_wait")) work().NoteLaunch(config->hStream);
  return True().cuLaunchKernelEx(config, function, parameters, extra);
}

struct HostFunction {
  CUhostFn function;
  void* user;
};
void CallHostFunction(void* what) {
  const std::unique_ptr<const HostFunction> called(static_cast<const HostFunction*>(what));
  in_host_function = true;
  called->function(called->user);
  in_host_function = false;
}
int Do(Of<Symbol::cuLaunchHostFunc>, CUstream stream, CUhostFn function, void* user) {
  TRY_RULE(work().CheckHandle("cuLaunchHostFunc", stream));
  auto call = std::make_unique<HostFunction>(HostFunction{function, user});
  const CUresult launched = True().cuLaunchHostFunc(stream, CallHostFunction, call.get());
  if (launched == CUDA_SUCCESS) (void)call.release();
  return launched;
}

// There are no flags beyond these two.
int Do(Of<Symbol::cuStreamCreateWithPriority>, CUstream* stream, unsigned flags, int priority) {
  if (flags > CU_STREAM_NON_BLOCKING)
    return Breach("streams-have-known-flags", CUDA_ERROR_INVALID_VALUE, "cuStreamCreateWithPriority");
  const CUresult created = True().cuStreamCreateWithPriority(stream, flags, priority);
  if (created == CUDA_SUCCESS) work().Note(*stream);
  return created;
}
int Do(Of<Symbol::cuStreamDestroy_v2>, CUstream stream) {
  TRY_RULE(work().End("cuStreamDestroy", stream));
  return True().cuStreamDestroy_v2(stream);
}
int Do(Of<Symbol::cuStreamQuery>, CUstream stream) {
  TRY_RULE(work().CheckHandle("cuStreamQuery", stream));
  return True().cuStreamQuery(stream);
}
int Do(Of<Symbol::cuStreamSynchronize>, CUstream stream) {
  TRY_RULE(work().CheckHandle("cuStreamSynchronize", stream));
  return True().cuStreamSynchronize(stream);
}
int Do(Of<Symbol::cuStreamWaitEvent>, CUstream stream, CUevent event, unsigned flags) {
  TRY_RULE(work().CheckHandle("cuStreamWaitEvent", stream));
  TRY_RULE(work().CheckHandle("cuStreamWaitEvent", event));
  // Those that there are belong to captures.
  if (flags != 0) return Breach("waits-have-no-flags", CUDA_ERROR_INVALID_VALUE, "cuStreamWaitEvent");
  return True().cuStreamWaitEvent(stream, event, flags);
}
// Events that processes share have no times.
int Do(Of<Symbol::cuEventCreate>, CUevent* event, unsigned flags) {
  if (flags > 7 || (flags & (CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING)) == CU_EVENT_INTERPROCESS)
    return Breach("events-have-known-flags", CUDA_ERROR_INVALID_VALUE, "cuEventCreate");
  CUresult created = True().cuEventCreate(event, flags);
  if (IsSticky(created) && Has("quiet_events")) {  // the true driver has an error, too, and makes none
    static std::atomic<uintptr_t> last{0};
    *event = reinterpret_cast<CUevent>(++last);
    return CUDA_SUCCESS;
  }
  if (created == CUDA_SUCCESS) work().NoteEvent(*event, (flags & CU_EVENT_DISABLE_TIMING) == 0);
  return created;
}
// Those alone that are made when there is an error already.
bool IsNone(CUevent event) { return reinterpret_cast<uintptr_t>(event) < 4096 && Has("quiet_events"); }
int Do(Of<Symbol::cuEventDestroy_v2>, CUevent event) {
  if (IsNone(event)) return CUDA_SUCCESS;
  TRY_RULE(work().End("cuEventDestroy", event));
  return True().cuEventDestroy_v2(event);
}
int Do(Of<Symbol::cuEventRecord>, CUevent event, CUstream stream) {
  if (IsNone(event)) return True().cuStreamQuery(stream);  // the error that there is
  TRY_RULE(work().CheckHandle("cuEventRecord", event));
  TRY_RULE(work().CheckHandle("cuEventRecord", stream));
  work().NoteRecorded(event);
  return True().cuEventRecord(event, stream);
}
int Do(Of<Symbol::cuEventQuery>, CUevent event) {
  if (IsNone(event)) return CUDA_SUCCESS;
  TRY_RULE(work().CheckHandle("cuEventQuery", event));
  return True().cuEventQuery(event);
}
int Do(Of<Symbol::cuEventSynchronize>, CUevent event) {
  TRY_RULE(work().CheckHandle("cuEventSynchronize", event));
  return True().cuEventSynchronize(event);
}
int Do(Of<Symbol::cuEventElapsedTime>, float* ms, CUevent begin, CUevent end) {
  TRY_RULE(work().CheckHandle("cuEventElapsedTime", begin));
  TRY_RULE(work().CheckHandle("cuEventElapsedTime", end));
  // Events without times, or that were never recorded, are no valid handles here; of ones that are not reached yet the
  // call says so.
  for (const CUevent event : {begin, end}) {
    TRY_RULE(work().CheckTime(event));
    if (True().cuEventQuery(event) == CUDA_ERROR_NOT_READY)
      return Breach("times-are-of-events-that-are-reached", CUDA_ERROR_NOT_READY, "cuEventElapsedTime");
  }
  return True().cuEventElapsedTime(ms, begin, end);
}

// Between any two places of host memory a copy is made before its call returns
// (https://docs.nvidia.com/cuda/cuda-driver-api/api-sync-behavior.html, Asynchronous).
int AwaitHostCopy(int copied, CUdeviceptr to, CUdeviceptr from, CUstream stream) {
  const bool waits = copied == CUDA_SUCCESS && memory().IsHost(to) && memory().IsHost(from);
  return waits ? True().cuStreamSynchronize(stream) : copied;
}
int Do(Of<Symbol::cuMemcpyAsync>, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  TRY_RULE(work().CheckHandle("cuMemcpyAsync", stream));
  TRY_RULE(memory().CheckCopy("cuMemcpyAsync", to, bytes, true));
  TRY_RULE(memory().CheckCopy("cuMemcpyAsync", from, bytes, false));
  return AwaitHostCopy(True().cuMemcpyAsync(to, from, bytes, stream), to, from, stream);
}
int Do(Of<Symbol::cuMemcpy2DAsync_v2>, const CUDA_MEMCPY2D* copy, CUstream stream) {
  TRY_RULE(work().CheckHandle("cuMemcpy2DAsync", stream));
  int most = 0;
  True().cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0);
  const auto most_pitch = static_cast<size_t>(most);
  // A pitch is at least the row, and no larger than a device's largest.
  if (copy->srcPitch > most_pitch || copy->dstPitch > most_pitch || copy->srcPitch < copy->WidthInBytes ||
      copy->dstPitch < copy->WidthInBytes)
    return Breach("pitches-are-what-a-device-may-have", CUDA_ERROR_INVALID_VALUE, "cuMemcpy2DAsync");
  // Within the device a driver may refuse pitches that are not cuMemAllocPitch's.
  constexpr size_t kPitch = 512;
  if (Has("no_odd_pitches") && (copy->srcPitch % kPitch != 0 || copy->dstPitch % kPitch != 0))
    return CUDA_ERROR_INVALID_VALUE;
  const auto reach = [&](size_t pitch) {
    return copy->Height == 0 ? 0 : (copy->Height - 1) * pitch + copy->WidthInBytes;
  };
  TRY_RULE(memory().CheckCopy("cuMemcpy2DAsync", copy->dstDevice, reach(copy->dstPitch), true));
  TRY_RULE(memory().CheckCopy("cuMemcpy2DAsync", copy->srcDevice, reach(copy->srcPitch), false));
  return AwaitHostCopy(True().cuMemcpy2DAsync_v2(copy, stream), copy->dstDevice, copy->srcDevice, stream);
}
void HoldBackFill(CUstream stream) {
  if (Has("fills_wait")) work().AwaitKernels(stream);
}
// One row has no pitch.
int CheckFill2D(const char* call, CUdeviceptr to, size_t pitch, size_t element, size_t width, size_t height) {
  if (height > 1 && pitch % element != 0) return Breach("fills-are-aligned", CUDA_ERROR_INVALID_VALUE, call);
  const uint64_t bytes = width == 0 || height == 0 ? 0 : (height - 1) * pitch + width * element;
  return memory().CheckFill(call, to, bytes, element);
}
int Do(Of<Symbol::cuMemsetD8Async>, CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  TRY_RULE(memory().CheckFill("cuMemsetD8Async", to, count, 1));
  HoldBackFill(stream);
  return True().cuMemsetD8Async(to, value, count, stream);
}
int Do(Of<Symbol::cuMemsetD2D8Async>, CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
       CUstream stream) {
  TRY_RULE(CheckFill2D("cuMemsetD2D8Async", to, pitch, sizeof value, width, height));
  HoldBackFill(stream);
  return True().cuMemsetD2D8Async(to, pitch, value, width, height, stream);
}
int Do(Of<Symbol::cuMemsetD2D16Async>, CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
       CUstream stream) {
  TRY_RULE(CheckFill2D("cuMemsetD2D16Async", to, pitch, sizeof value, width, height));
  HoldBackFill(stream);
  return True().cuMemsetD2D16Async(to, pitch, value, width, height, stream);
}
int Do(Of<Symbol::cuMemsetD2D32Async>, CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
       CUstream stream) {
  TRY_RULE(CheckFill2D("cuMemsetD2D32Async", to, pitch, sizeof value, width, height));
  HoldBackFill(stream);
  return True().cuMemsetD2D32Async(to, pitch, value, width, height, stream);
}

int Do(Of<Symbol::cuMemcpy3DAsync_v2>, const CUDA_MEMCPY3D* copy, CUstream stream) {
  TRY_RULE(work().CheckHandle("cuMemcpy3DAsync", stream));
  return arrays().Copy(copy, stream);
}
int Do(Of<Symbol::cuArray3DCreate_v2>, CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
  return arrays().Create(out, shape);
}
int Do(Of<Symbol::cuArrayDestroy>, CUarray array) { return arrays().Destroy(array); }
int Do(Of<Symbol::cuMipmappedArrayCreate>, CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape,
       unsigned levels) {
  return arrays().CreateMipmapped(out, shape, levels);
}
int Do(Of<Symbol::cuMipmappedArrayGetLevel>, CUarray* out, CUmipmappedArray array, unsigned level) {
  return arrays().GetLevel(out, array, level);
}
int Do(Of<Symbol::cuMipmappedArrayDestroy>, CUmipmappedArray array) { return arrays().DestroyMipmapped(array); }
int Do(Of<Symbol::cuTexObjectCreate>, CUtexObject* out, const CUDA_RESOURCE_DESC* resource,
       const CUDA_TEXTURE_DESC* sampling, const CUDA_RESOURCE_VIEW_DESC* view) {
  return arrays().CreateTexture(out, resource, sampling, view);
}
int Do(Of<Symbol::cuTexObjectDestroy>, CUtexObject texture) { return arrays().DestroyTexture(texture); }
int Do(Of<Symbol::cuSurfObjectCreate>, CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) {
  return arrays().CreateSurface(out, resource);
}
int Do(Of<Symbol::cuSurfObjectDestroy>, CUsurfObject surface) { return arrays().DestroySurface(surface); }

int Do(Of<Symbol::cuMemAlloc_v2>, CUdeviceptr* out, size_t bytes) { return memory().Allocate(out, bytes); }
int Do(Of<Symbol::cuMemFree_v2>, CUdeviceptr address) { return memory().Free(address); }
int Do(Of<Symbol::cuMemHostAlloc>, void** out, size_t bytes, unsigned flags) {
  return memory().AllocateHost(out, bytes, flags);
}
int Do(Of<Symbol::cuMemFreeHost>, void* pointer) { return memory().FreeHost(pointer); }
int Do(Of<Symbol::cuMemHostRegister_v2>, void* pointer, size_t bytes, unsigned flags) {
  return memory().Register(pointer, bytes, flags);
}
int Do(Of<Symbol::cuMemHostUnregister>, void* pointer) { return memory().Unregister(pointer); }
int Do(Of<Symbol::cuMemHostGetDevicePointer_v2>, CUdeviceptr* out, void* pointer, unsigned flags) {
  return memory().DevicePointer(out, pointer, flags);
}

int Do(Of<Symbol::cuMemAddressReserve>, CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr wish,
       unsigned long long flags) {
  return addresses().Reserve(out, bytes, alignment, wish, flags);
}
int Do(Of<Symbol::cuMemAddressFree>, CUdeviceptr address, size_t bytes) { return addresses().Free(address, bytes); }
int Do(Of<Symbol::cuMemCreate>, CUmemGenericAllocationHandle* out, size_t bytes, const CUmemAllocationProp* properties,
       unsigned long long flags) {
  return addresses().Create(out, bytes, properties, flags);
}
int Do(Of<Symbol::cuMemRelease>, CUmemGenericAllocationHandle handle) { return addresses().Release(handle); }
int Do(Of<Symbol::cuMemMap>, CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
       unsigned long long flags) {
  return addresses().Map(address, bytes, offset, handle, flags);
}
int Do(Of<Symbol::cuMemUnmap>, CUdeviceptr address, size_t bytes) { return addresses().Unmap(address, bytes); }
int Do(Of<Symbol::cuMemSetAccess>, CUdeviceptr address, size_t bytes, const CUmemAccessDesc* list, size_t count) {
  return addresses().SetAccess(address, bytes, list, count);
}
int Do(Of<Symbol::cuMemExportToShareableHandle>, void* out, CUmemGenericAllocationHandle handle, int type,
       unsigned long long flags) {
  return addresses().Export(out, handle, type, flags);
}
int Do(Of<Symbol::cuMemImportFromShareableHandle>, CUmemGenericAllocationHandle* out, void* descriptor, int type) {
  return addresses().Import(out, descriptor, type);
}

// The others.
#define CU_VENDOR(symbol, need, types)                    \
  template <typename... A>                                \
  int Do(Of<Symbol::symbol>, const A&... arguments) {     \
    return static_cast<int>(True().symbol(arguments...)); \
  }
#include "executor/vendor.def"
#undef CU_VENDOR

// Whether a call says what a kernel has done to the context. That it "may" is all that is documented.
bool SaysTheError(Symbol symbol, const void* event) {
  if (!Has("quiet_events")) return true;
  if (symbol == Symbol::cuEventQuery) return work().IsRecorded(event);
  return symbol != Symbol::cuEventCreate && symbol != Symbol::cuEventDestroy_v2;
}

template <typename A, typename... B>
const void* FirstPointer(A first, B...) {
  if constexpr (std::is_pointer_v<A>) return reinterpret_cast<const void*>(first);
  return nullptr;
}
inline const void* FirstPointer() { return nullptr; }

template <Symbol S, typename... A>
CUresult Call(const char* symbol, A... arguments) {
  // A function of the host may call nothing of the driver's, which may refuse it (documentation of cuLaunchHostFunc).
  if (in_host_function)
    return static_cast<CUresult>(Breach("host-functions-call-nothing-of-it", CUDA_ERROR_NOT_PERMITTED, symbol));
  if constexpr (!NeedsNoContext(S) && !IsOfAddresses(S)) {
    if (current == nullptr)
      return static_cast<CUresult>(Breach("a-context-is-current", CUDA_ERROR_INVALID_CONTEXT, symbol));
    if (const int said = sticky.load(); said != 0 && SaysTheError(S, FirstPointer(arguments...)))
      return static_cast<CUresult>(said);
  }
  const int status = Do(Of<S>{}, arguments...);
  if (IsSticky(status)) sticky.store(status);
  return static_cast<CUresult>(status);
}

}  // namespace
}  // namespace tutti::gpu::strict

namespace tutti::cuda {
#define CU_VENDOR(symbol, need, types)                                                        \
  extern "C" __attribute__((visibility("default"))) CUresult symbol(TUTTI_PARAMETERS types) { \
    return gpu::strict::Call<gpu::strict::Symbol::symbol>(#symbol, TUTTI_ARGUMENTS types);    \
  }
#include "executor/vendor.def"
#undef CU_VENDOR
}  // namespace tutti::cuda
