// Kernels that a library brings along, as PTX in its own file (cmake/device_code.cmake). They are loaded when the first
// of them is needed, once for all contexts of the process, through the functions that every program calls: so limits,
// shares and containment hold for them as for the program's own.
#pragma once

#include <atomic>
#include <mutex>

#include "libraries/common/driver.h"

// The PTX that the build made of name.cu.
#define DEVICE_CODE(name) extern "C" const char tutti_device_code_##name[]

namespace tutti::libraries {

// One module of kernels; a constant of the process, never unloaded. Thread-safe.
class DeviceCode {
 public:
  constexpr explicit DeviceCode(const char* ptx) : ptx_(ptx) {}

  // The module, loaded if it has not been yet. A load that fails is tried again with the next call.
  CUresult Load(CUlibrary* library);

 private:
  const char* ptx_;
  std::mutex loading_;
  std::atomic<CUlibrary> library_ = nullptr;
};

// A kernel of such a module, found by its name once. Thread-safe.
class Kernel {
 public:
  constexpr Kernel(DeviceCode* code, const char* name) : code_(code), name_(name) {}

  // The handle that launches in whatever context is current.
  CUresult Find(CUfunction* function);
  const char* name() const { return name_; }

 private:
  DeviceCode* code_;
  const char* name_;
  std::atomic<CUkernel> kernel_ = nullptr;
};

}  // namespace tutti::libraries
