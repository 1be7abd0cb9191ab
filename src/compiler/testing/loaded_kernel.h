// A compiled kernel loaded into this process. For tests and measurements of the compiler: the device's own loader
// checks where the code comes from, this one trusts it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/error.h"
#include "guest/cpu/kernel_abi.h"
#include "os/fd.h"

namespace tutti::compiler {

// Movable; unloads with its owner.
class LoadedKernel {
 public:
  // Of a shared object's bytes, through a memory file (gdb and perf see it under its soname).
  static Result<LoadedKernel> Load(std::span<const uint8_t> shared_object);

  LoadedKernel(LoadedKernel&& other) noexcept;
  LoadedKernel& operator=(LoadedKernel&&) = delete;
  ~LoadedKernel();

  const guest::KernelDescriptor& descriptor() const { return *descriptor_; }
  // Whether the object itself (not something it depends on) has the symbol.
  bool Exports(const char* symbol) const;

 private:
  LoadedKernel(os::Fd file, void* library, const guest::KernelDescriptor* descriptor)
      : file_(std::move(file)), library_(library), descriptor_(descriptor) {}

  // Kept open: its number is the library's path, and dlopen takes equal paths for the same library.
  os::Fd file_;
  void* library_;
  const guest::KernelDescriptor* descriptor_;
};

}  // namespace tutti::compiler
