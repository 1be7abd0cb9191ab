// Libraries and their kernels.
#include "client/module/library.h"

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/context/device.h"
#include "client/entry/entries.h"
#include "client/module/linker.h"

namespace tutti::client::entry {
namespace {

bool Preserved(const CUlibraryOption* options, void* const* values, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED) return values == nullptr || values[i] != nullptr;
  }
  return false;
}

CUresult LoadLibrary(CUlibrary* out, const void* image, bool preserved) {
  CU_ASSIGN(Library* const library, Library::Load(image, preserved));
  *out = library->handle();
  return CUDA_SUCCESS;
}

// The function of a kernel on a device: in the current context if it is on that device, else in its primary one.
Answer<Function*> FunctionOn(Kernel& kernel, CUdevice ordinal) {
  Device* device = Device::Find(ordinal);
  if (device == nullptr) return Refuse(CUDA_ERROR_INVALID_DEVICE);
  const auto current = UsableContext();
  return kernel.In(current && &(*current)->device() == device ? **current : device->primary());
}

Answer<const module::VariableInfo*> FindVariable(const Answer<Module*>& module, const char* name) {
  if (!module) return Refuse(module.error());
  if (name == nullptr) return Refuse(CUDA_ERROR_INVALID_VALUE);
  const module::VariableInfo* variable = (*module)->FindVariable(name);
  if (variable == nullptr) return Refuse(CUDA_ERROR_NOT_FOUND);
  return variable;
}

CUresult GiveVariable(const module::VariableInfo& variable, CUdeviceptr* address, size_t* bytes) {
  if (address != nullptr) *address = variable.address;
  if (bytes != nullptr) *bytes = variable.bytes;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuLibraryLoadData(CUlibrary* out, const void* image, CUjit_option* jit, void** jit_values,
                           unsigned int jit_count, CUlibraryOption* options, void** values, unsigned int count) {
  const bool lists = JitOptions(jit_count, jit, jit_values).valid() && (count == 0 || options != nullptr);
  if (out == nullptr || !lists) return CUDA_ERROR_INVALID_VALUE;
  return LoadLibrary(out, image, Preserved(options, values, count));
}

CUresult cuLibraryLoadFromFile(CUlibrary* out, const char* path, CUjit_option*, void**, unsigned int, CUlibraryOption*,
                               void**, unsigned int) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const std::vector<uint8_t> bytes, ReadFile(path));
  return bytes.size() > 4 ? LoadLibrary(out, bytes.data(), false) : CUDA_ERROR_INVALID_IMAGE;
}

CUresult cuLibraryUnload(CUlibrary handle) {
  Library* library = Library::Find(handle);
  return library != nullptr ? Library::Unload(library) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLibraryGetKernel(CUkernel* out, CUlibrary handle, const char* name) {
  Library* library = Library::Find(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Kernel* const kernel, library->FindKernel(name));
  *out = kernel->handle();
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary handle) {
  Library* library = Library::Find(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const auto kernels, library->Kernels());
  *count = static_cast<unsigned>(kernels.size());
  return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel* out, unsigned int count, CUlibrary handle) {
  Library* library = Library::Find(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const auto kernels, library->Kernels());
  for (unsigned i = 0; i < count && i < kernels.size(); ++i) out[i] = kernels[i]->handle();
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule* out, CUlibrary handle) {
  Library* library = Library::Find(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_ASSIGN(Module* const module, library->In(*context));
  *out = module->handle();
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name) {
  Library* library = Library::Find(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_ASSIGN(const module::VariableInfo* const variable, FindVariable(library->In(*context), name));
  return GiveVariable(*variable, address, bytes);
}

// Needs no context: the runtime calls it before one exists.
CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name) {
  Library* library = Library::Find(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CU_ASSIGN(const module::VariableInfo* const variable, FindVariable(library->AnyModule(), name));
  return variable->is_managed ? GiveVariable(*variable, address, bytes) : CUDA_ERROR_NOT_FOUND;
}

CUresult cuKernelGetFunction(CUfunction* out, CUkernel handle) {
  Kernel* kernel = Kernel::Find(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_ASSIGN(Function* const function, kernel->In(*context));
  *out = function->handle();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary* out, CUkernel handle) {
  const Kernel* kernel = Kernel::Find(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = kernel->library().handle();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char** name, CUkernel handle) {
  const Kernel* kernel = Kernel::Find(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = kernel->name().c_str();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice device) {
  Kernel* kernel = Kernel::Find(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Function* const function, FunctionOn(*kernel, device));
  return function->GetAttribute(attribute, value);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice device) {
  Kernel* kernel = Kernel::Find(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CU_ASSIGN(Function* const function, FunctionOn(*kernel, device));
  return function->SetAttribute(attribute, value);
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice device) {
  Kernel* kernel = Kernel::Find(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (config < 0 || config > 3) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Function* const function, FunctionOn(*kernel, device));
  function->cache_config = config;
  return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* bytes) {
  Kernel* kernel = Kernel::Find(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_ASSIGN(Function* const function, kernel->In(*context));
  return cuFuncGetParamInfo(function->handle(), index, offset, bytes);
}

}  // namespace tutti::client::entry
