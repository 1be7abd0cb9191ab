#include "compiler/testing/loaded_kernel.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace tutti::compiler {

Result<LoadedKernel> LoadedKernel::Load(std::span<const uint8_t> shared_object) {
  os::Fd file(memfd_create("tutti-kernel", MFD_CLOEXEC));
  if (!file) return FailErrno("memfd_create");
  if (write(file.get(), shared_object.data(), shared_object.size()) != static_cast<ssize_t>(shared_object.size())) {
    return FailErrno("writing a kernel's shared object");
  }
  void* library = dlopen(("/proc/self/fd/" + std::to_string(file.get())).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Fail(std::string("loading a kernel: ") + dlerror());
  const auto* descriptor = static_cast<const guest::KernelDescriptor*>(dlsym(library, guest::kKernelSymbol));
  if (descriptor == nullptr || descriptor->magic != guest::kKernelMagic ||
      descriptor->abi_version != guest::kAbiVersion) {
    dlclose(library);
    return Fail("loading a kernel: no kernel descriptor of this version");
  }
  return LoadedKernel(std::move(file), library, descriptor);
}

LoadedKernel::LoadedKernel(LoadedKernel&& other) noexcept
    : file_(std::move(other.file_)), library_(std::exchange(other.library_, nullptr)), descriptor_(other.descriptor_) {}

bool LoadedKernel::Exports(const char* symbol) const { return dlsym(library_, symbol) != nullptr; }

LoadedKernel::~LoadedKernel() {
  if (library_ != nullptr) dlclose(library_);
}

}  // namespace tutti::compiler
