// A submitter with a driver that notes what it is told.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cuda/result.h"
#include "executor/fence_memory.h"
#include "executor/submitter.h"
#include "os/fd.h"

namespace tutti::executor {

struct FakeDriver {
  std::vector<std::string> calls;
  std::map<const void*, std::string> at;  // event -> the stream's calls before it was recorded
  bool reached = true;  // whether events are
  cuda::CUresult context = cuda::CUDA_SUCCESS;  // what a kernel has done to it
  cuda::CUresult streams = cuda::CUDA_SUCCESS;  // what is said of those in which nothing is
  cuda::CUresult copies = cuda::CUDA_SUCCESS;
  cuda::CUresult copies_of_rows = cuda::CUDA_SUCCESS;
  cuda::CUresult events = cuda::CUDA_SUCCESS;  // to be made
  cuda::CUresult limits = cuda::CUDA_SUCCESS;  // to be set
  cuda::CUresult currents = cuda::CUDA_SUCCESS;  // contexts, to be made so
  std::function<void()> at_limit = [] {};  // while one is set
  std::function<void()> at_look = [] {};  // while a stream is looked at
  std::function<void()> at_unload = [] {};  // before a module is
  std::vector<uintptr_t> unloaded() {  // modules
    std::lock_guard lock(mutex);
    return unloaded_modules;
  }
  std::mutex mutex;
  std::vector<uintptr_t> unloaded_modules;
  std::vector<std::unique_ptr<FenceMemory::Host>> hosts;  // of fences
  std::map<std::string, size_t> variables;  // of each module
  std::vector<std::pair<cuda::CUjitInputType, std::string>> linked;  // inputs, since the last linker was made
  cuda::CUresult links = cuda::CUDA_SUCCESS;  // inputs, to be taken
  std::string code = "linked";  // what they become
  std::string loaded_text;  // what was loaded last, or the begin of it
  std::atomic<uint64_t> last_limit{0};  // that was to be set
  uintptr_t last = 0;
};
inline FakeDriver* driver = nullptr;
inline constexpr size_t kFreshLimit = 500, kMostOfLimit = 10'000;  // of stacks
inline constexpr cuda::CUdeviceptr kOfFence = 1 << 20;

template <typename Handle>
cuda::CUresult Make(Handle* out) {
  *out = reinterpret_cast<Handle>(++driver->last);
  return cuda::CUDA_SUCCESS;
}
// Of each variable of a module that was made as the so manieth.
constexpr cuda::CUdeviceptr AddressOfVariable(uintptr_t module) { return module << 24; }
inline std::string Name(const void* handle) { return std::to_string(reinterpret_cast<uintptr_t>(handle)); }

inline Vendor MakeVendor() {
  Vendor vendor;
  vendor.cuGetErrorName = [](cuda::CUresult, const char** name) {
    *name = "CUDA_ERROR_OF_TEST";
    return cuda::CUDA_SUCCESS + 0;
  };
  vendor.cuCtxGetStreamPriorityRange = [](int* least, int* most) -> cuda::CUresult {
    *least = *most = 0;
    return cuda::CUDA_SUCCESS;
  };
  vendor.cuStreamQuery = [](cuda::CUstream) -> cuda::CUresult {
    driver->at_look();
    return driver->streams;
  };
  vendor.cuCtxSetCurrent = [](cuda::CUcontext) -> cuda::CUresult { return driver->currents; };
  vendor.cuModuleLoadDataEx = [](cuda::CUmodule* module, const void* image, unsigned, cuda::CUjit_option*,
                                 void**) -> cuda::CUresult {
    const std::lock_guard lock(driver->mutex);
    driver->loaded_text.assign(static_cast<const char*>(image), strnlen(static_cast<const char*>(image), 64));
    return Make(module);
  };
  vendor.cuLinkCreate_v2 = [](unsigned, cuda::CUjit_option*, void**, cuda::CUlinkState* state) -> cuda::CUresult {
    driver->linked.clear();
    return Make(state);
  };
  vendor.cuLinkAddData_v2 = [](cuda::CUlinkState, cuda::CUjitInputType type, void* data, size_t bytes, const char*,
                               unsigned, cuda::CUjit_option*, void**) -> cuda::CUresult {
    driver->linked.emplace_back(type, std::string(static_cast<const char*>(data), bytes));
    return driver->links;
  };
  vendor.cuLinkComplete = [](cuda::CUlinkState, void** code, size_t* bytes) -> cuda::CUresult {
    *code = driver->code.data();
    *bytes = driver->code.size();
    return cuda::CUDA_SUCCESS;
  };
  vendor.cuLinkDestroy = [](cuda::CUlinkState) -> cuda::CUresult { return cuda::CUDA_SUCCESS; };
  vendor.cuModuleGetFunctionCount = [](unsigned* count, cuda::CUmodule) -> cuda::CUresult {
    *count = 0;
    return cuda::CUDA_SUCCESS;
  };
  vendor.cuModuleGetGlobal_v2 = [](cuda::CUdeviceptr* address, size_t* bytes, cuda::CUmodule module,
                                   const char* name) -> cuda::CUresult {
    const auto found = driver->variables.find(name);
    if (found == driver->variables.end()) return cuda::CUDA_ERROR_NOT_FOUND;
    *address = AddressOfVariable(reinterpret_cast<uintptr_t>(module));
    *bytes = found->second;
    return cuda::CUDA_SUCCESS;
  };
  vendor.cuModuleUnload = [](cuda::CUmodule module) -> cuda::CUresult {
    driver->at_unload();
    std::lock_guard lock(driver->mutex);
    driver->unloaded_modules.push_back(reinterpret_cast<uintptr_t>(module));
    return cuda::CUDA_SUCCESS;
  };
  vendor.cuStreamCreateWithPriority = [](cuda::CUstream* out, unsigned, int) -> cuda::CUresult { return Make(out); };
  vendor.cuEventCreate = [](cuda::CUevent* out, unsigned) -> cuda::CUresult {
    return driver->events != cuda::CUDA_SUCCESS ? driver->events : Make(out);
  };
  vendor.cuEventRecord = [](cuda::CUevent event, cuda::CUstream stream) -> cuda::CUresult {
    driver->calls.push_back("record " + Name(event) + " in " + Name(stream));
    return cuda::CUDA_SUCCESS;
  };
  vendor.cuStreamWaitEvent = [](cuda::CUstream stream, cuda::CUevent event, unsigned) -> cuda::CUresult {
    driver->calls.push_back("wait for " + Name(event) + " in " + Name(stream));
    return cuda::CUDA_SUCCESS;
  };
  vendor.cuEventQuery = [](cuda::CUevent) -> cuda::CUresult {
    return driver->context != cuda::CUDA_SUCCESS ? driver->context
           : driver->reached                     ? cuda::CUDA_SUCCESS
                                                 : cuda::CUDA_ERROR_NOT_READY;
  };
  vendor.cuEventElapsedTime = [](float* ms, cuda::CUevent from, cuda::CUevent to) -> cuda::CUresult {
    driver->calls.push_back("time from " + Name(from) + " to " + Name(to));
    *ms = 0.25;
    return cuda::CUDA_SUCCESS;
  };
  vendor.cuStreamSynchronize = [](cuda::CUstream) -> cuda::CUresult { return cuda::CUDA_SUCCESS; };
  vendor.cuStreamDestroy_v2 = [](cuda::CUstream) -> cuda::CUresult { return cuda::CUDA_SUCCESS; };
  vendor.cuMemAlloc_v2 = [](cuda::CUdeviceptr* address, size_t) -> cuda::CUresult {
    *address = kOfFence;
    return cuda::CUDA_SUCCESS;
  };
  vendor.cuMemHostAlloc = [](void** memory, size_t, unsigned) -> cuda::CUresult {
    driver->hosts.push_back(std::make_unique<FenceMemory::Host>());
    *memory = driver->hosts.back().get();
    return cuda::CUDA_SUCCESS;
  };
  vendor.cuMemHostGetDevicePointer_v2 = [](cuda::CUdeviceptr* address, void* memory, unsigned) -> cuda::CUresult {
    *address = reinterpret_cast<cuda::CUdeviceptr>(memory);
    return cuda::CUDA_SUCCESS;
  };
  vendor.cuEventDestroy_v2 = [](cuda::CUevent) -> cuda::CUresult { return cuda::CUDA_SUCCESS; };
  vendor.cuCtxGetLimit = [](size_t* bytes, cuda::CUlimit limit) -> cuda::CUresult {
    *bytes = 0;
    if (limit == cuda::CU_LIMIT_PERSISTING_L2_CACHE_SIZE) return cuda::CUDA_SUCCESS;
    if (limit != cuda::CU_LIMIT_STACK_SIZE && limit != cuda::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT)
      return cuda::CUDA_ERROR_UNSUPPORTED_LIMIT;
    *bytes = kFreshLimit;
    return cuda::CUDA_SUCCESS;
  };
  vendor.cuCtxSetLimit = [](cuda::CUlimit limit, size_t bytes) -> cuda::CUresult {
    driver->calls.push_back("limit " + std::to_string(limit) + " is " + std::to_string(bytes));
    driver->last_limit = bytes;
    driver->at_limit();
    if (driver->limits != cuda::CUDA_SUCCESS) return driver->limits;
    return bytes > kMostOfLimit ? cuda::CUDA_ERROR_INVALID_VALUE : cuda::CUDA_SUCCESS;
  };
  vendor.cuMemcpyAsync = [](cuda::CUdeviceptr to, cuda::CUdeviceptr from, size_t bytes,
                            cuda::CUstream stream) -> cuda::CUresult {
    driver->calls.push_back("copy " + std::to_string(bytes) + " from " + std::to_string(from) + " to " +
                            std::to_string(to) + " in " + Name(stream));
    return driver->copies;
  };
  vendor.cuMemcpy2DAsync_v2 = [](const cuda::CUDA_MEMCPY2D*, cuda::CUstream) -> cuda::CUresult {
    return driver->copies_of_rows;
  };
  vendor.cuMemsetD2D32Async = [](cuda::CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                                 cuda::CUstream) -> cuda::CUresult {
    driver->calls.push_back("fill " + std::to_string(to) + " pitch " + std::to_string(pitch) + " with " +
                            std::to_string(value) + " " + std::to_string(width) + "x" + std::to_string(height));
    return cuda::CUDA_SUCCESS;
  };
  return vendor;
}

class SubmitterTest : public testing::Test {
 protected:
  SubmitterTest() { driver = &driver_; }
  ~SubmitterTest() override { driver = nullptr; }

  void Open(uint32_t stream) {
    writer_.Add({.kind = DispatchKind::kOpenStream, .stream = stream}, OpenStreamDispatch{});
  }
  void Copy(uint32_t stream, uint64_t sequence, uint64_t bytes = 8) {
    writer_.Add({.kind = DispatchKind::kCopy, .stream = stream, .sequence = sequence},
                CopyDispatch{.destination = 200, .source = 100, .row_bytes = bytes, .rows = 1, .planes = 1});
  }
  void Wait(uint32_t stream, uint64_t sequence, uint32_t other, uint64_t other_sequence) {
    writer_.Add({.kind = DispatchKind::kWait, .stream = stream, .sequence = sequence},
                WaitDispatch{.other_stream = other, .other_sequence = other_sequence});
  }
  void Point(uint32_t stream) { writer_.Add({.kind = DispatchKind::kPoint, .stream = stream}, PointDispatch{}); }
  void Time(uint32_t stream, uint64_t sequence) {
    writer_.Add({.kind = DispatchKind::kTime, .stream = stream, .sequence = sequence}, TimeDispatch{});
  }
  uint64_t time(uint32_t stream, uint64_t sequence) const {
    return exchange_->times[stream][sequence % kMostAhead].load();
  }
  void Step() {
    writer_.Publish();
    submitter_.Step();
  }
  uint64_t done(uint32_t stream) const { return exchange_->streams[stream].done.load(); }

  FakeDriver driver_;
  const std::unique_ptr<Exchange> exchange_{new Exchange()};
  const os::Fd bell_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  const Vendor vendor_ = MakeVendor();
  Modules modules_{vendor_};
  DispatchWriter writer_{exchange_.get()};
  Submitter submitter_{vendor_, &modules_, exchange_.get(), bell_.get()};
};

}  // namespace tutti::executor
