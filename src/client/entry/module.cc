// Modules, and the linker.
#include "client/module/module.h"

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/entry/entries.h"
#include "client/graph/capture.h"
#include "client/module/function.h"
#include "client/module/image.h"
#include "client/module/linker.h"

namespace tutti::client::entry {
namespace {

CUresult LoadImage(CUmodule* out, const void* image, const JitOptions& options) {
  if (out == nullptr || !options.valid()) return CUDA_ERROR_INVALID_VALUE;
  CU_TRY(Capture::CheckUnsafe("loading a module"));
  CU_ASSIGN(Context* const context, UsableContext());
  CU_ASSIGN(const ImageParts parts, FindImage(image));
  CU_ASSIGN(Module* const module, Module::Load(*context, JoinParts(parts), options, image));
  *out = module->handle();
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned int count, CUjit_option* options,
                            void** values) {
  return LoadImage(out, image, JitOptions(count, options, values));
}
CUresult cuModuleLoadData(CUmodule* out, const void* image) { return LoadImage(out, image, {}); }
CUresult cuModuleLoadFatBinary(CUmodule* out, const void* fatbin) { return LoadImage(out, fatbin, {}); }

CUresult cuModuleLoad(CUmodule* out, const char* path) {
  CU_ASSIGN(const std::vector<uint8_t> bytes, ReadFile(path));
  return bytes.size() > 4 ? LoadImage(out, bytes.data(), {}) : CUDA_ERROR_INVALID_IMAGE;
}

CUresult cuModuleUnload(CUmodule handle) {
  Module* module = Module::Find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CU_TRY(Capture::CheckUnsafe("cuModuleUnload"));
  return Module::Unload(module);
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* out, CUmodule handle, const char* name) {
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Module* module = Module::Find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Function* function = module->FindFunction(name);
  if (function == nullptr) return CUDA_ERROR_NOT_FOUND;
  *out = function->handle();
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule handle) {
  const Module* module = Module::Find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(module->functions().size());
  return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction* out, unsigned int count, CUmodule handle) {
  const Module* module = Module::Find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count && i < module->functions().size(); ++i) out[i] = module->functions()[i]->handle();
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule handle, const char* name) {
  const Module* module = Module::Find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const module::VariableInfo* variable = module->FindVariable(name);
  if (variable == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = variable->address;
  if (bytes != nullptr) *bytes = variable->bytes;
  return CUDA_SUCCESS;
}

CUresult cuLinkCreate_v2(unsigned int count, CUjit_option* options, void** values, CUlinkState* out) {
  if (out == nullptr || !JitOptions(count, options, values).valid()) return CUDA_ERROR_INVALID_VALUE;
  Linker* linker = Linker::Create();
  if (linker == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = linker->handle();
  return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void* data, size_t bytes, const char*, unsigned int,
                          CUjit_option*, void**) {
  Linker* linker = Linker::Find(handle);
  return linker != nullptr ? linker->Add(type, data, bytes) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char* path, unsigned int, CUjit_option*,
                          void**) {
  Linker* linker = Linker::Find(handle);
  return linker != nullptr ? linker->AddFile(type, path) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLinkComplete(CUlinkState handle, void** image, size_t* bytes) {
  Linker* linker = Linker::Find(handle);
  if (linker == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto complete = linker->Complete();
  if (complete.empty()) return CUDA_ERROR_INVALID_IMAGE;
  *image = const_cast<uint8_t*>(complete.data());
  if (bytes != nullptr) *bytes = complete.size();
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState handle) {
  Linker* linker = Linker::Find(handle);
  return linker != nullptr ? Linker::Destroy(linker) : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace tutti::client::entry
