// Initialisation, versions, errors, and finding entry points.
#include <cstring>

#include "client/entry/entries.h"
#include "client/process/error_text.h"
#include "client/process/export_tables.h"
#include "client/process/proc_address.h"
#include "client/process/startup.h"
#include "cuda/result.h"

namespace tutti::client::entry {

CUresult cuInit(unsigned int flags) { return flags == 0 ? Start() : CUDA_ERROR_INVALID_VALUE; }

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = ResultName(error);
  return *name != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = ErrorText(error);
  return *text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || *symbol == '\0')
    return CUDA_ERROR_NOT_FOUND;  // the runtime's probe, without an output pointer
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const FoundFunction found = FindFunction(symbol, version, flags);
  *function = reinterpret_cast<void*>(found.function);
  if (status != nullptr) *status = found.status;
  return found.function != nullptr || status != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char* symbol, void** function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = FindExportTable(*id);
  return *table != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace tutti::client::entry
