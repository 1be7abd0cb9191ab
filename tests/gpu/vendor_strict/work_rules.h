// Streams, events, modules, functions, linking: which handles there are, and what is asked of them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "cuda/types.h"

namespace tutti::gpu::strict {

// Thread-safe.
class WorkRules {
 public:
  static WorkRules& Get();

  // Handles, by what makes and ends them.
  void Note(const void* handle);
  int CheckHandle(const char* call, const void* handle);  // 0, or INVALID_HANDLE
  int End(const char* call, const void* handle);  // also takes it out
  void NoteEvent(const void* event, bool has_time);
  int CheckTime(const void* event);  // 0, or INVALID_HANDLE
  void NoteRecorded(const void* event);
  bool IsRecorded(const void* event);

  int CheckJitOptions(const char* call, unsigned count, const cuda::CUjit_option* options, void* const* values);
  int CheckLinkInput(const void* data, size_t bytes, int type);
  // What a linker has made is machine code, which only this driver knows, until that linker is destroyed.
  void* Linked(cuda::CUlinkState state, const void* code, size_t bytes);
  void ForgetLinked(cuda::CUlinkState state);
  // 0, or INVALID_IMAGE. `own`: where it is what our own driver has made, that.
  int CheckImage(const void** image, std::string* own);
  int CheckLaunch(const cuda::CUlaunchConfig* config, cuda::CUfunction function, void** parameters, void** extra);
  int CheckFunctionAttribute(cuda::CUfunction function, cuda::CUfunction_attribute attribute, int value);
  // What the function allows itself now, as the vendor's does where nobody has set it.
  int MostDynamicShared(cuda::CUfunction function);
  void NoteModule(cuda::CUmodule module, const void* image);
  // Before it is gone: others may have their handles then.
  void ForgetFunctions(cuda::CUmodule module);
  int CheckLimit(cuda::CUlimit limit);
  // A fill in that stream is to wait for the kernels of all others (fills_wait).
  void NoteLaunch(cuda::CUstream stream);
  void AwaitKernels(cuda::CUstream stream);

 private:
  struct Function {
    size_t parameter_bytes = 0;
    int static_shared = 0, most_threads = 0, most_dynamic_shared = 0;
    bool wide_clusters = false;
  };
  Function& Of(cuda::CUfunction function);

  std::mutex mutex_;
  std::set<const void*> handles_, recorded_, timed_;
  std::set<cuda::CUstream> launched_in_;
  std::map<cuda::CUfunction, Function> functions_;
  std::map<cuda::CUlinkState, std::string> linked_;
  bool launched_what_prints_ = false, may_print_ = false;
};

}  // namespace tutti::gpu::strict
