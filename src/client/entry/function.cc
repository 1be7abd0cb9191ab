// Functions.
#include "client/module/function.h"

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/entry/entries.h"
#include "client/module/launch.h"
#include "client/module/module.h"

namespace tutti::client::entry {
namespace {

// A function, or a kernel in the current context, which these calls take as well.
Answer<Function*> Resolve(CUfunction handle) {
  if (Function* function = Function::Find(handle)) return function;
  CU_ASSIGN_OR_REFUSE(Context* const context, UsableContext());
  return ResolveFunction(handle, *context);
}

}  // namespace

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Function* const function, Resolve(handle));
  return function->GetAttribute(attribute, value);
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  CU_ASSIGN(Function* const function, Resolve(handle));
  return function->SetAttribute(attribute, value);
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
  if (config < 0 || config > 3) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Function* const function, Resolve(handle));
  function->cache_config = config;
  return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config) {
  if (config < 0 || config > 2) return CUDA_ERROR_INVALID_VALUE;
  return Resolve(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetModule(CUmodule* out, CUfunction handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Function* const function, Resolve(handle));
  *out = function->module().handle();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char** name, CUfunction handle) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Function* const function, Resolve(handle));
  *name = function->info().name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* bytes) {
  CU_ASSIGN(Function* const function, Resolve(handle));
  const auto& parameters = function->info().params;
  if (offset == nullptr || index >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = parameters[index].offset;
  if (bytes != nullptr) *bytes = parameters[index].bytes;
  return CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Function* const function, Resolve(handle));
  static_cast<void>(function);
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction handle) { return Resolve(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }

}  // namespace tutti::client::entry
