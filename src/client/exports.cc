// Every exported function of libcuda.so.1, generated from the API table. Each passes the gate and calls its body in
// entry/, or reports that it is not supported.
#include "client/process/exports.h"

#include "client/context/current.h"
#include "client/entry/entries.h"
#include "client/process/arguments.h"
#include "client/process/enter.h"

#define TUTTI_EXPORT extern "C" __attribute__((visibility("default")))

namespace tutti::client {

using namespace tutti::cuda;

#define CU_ENTRY(symbol, name, version, class, body, types)                                                   \
  TUTTI_EXPORT CUresult symbol(TUTTI_PARAMETERS types) {                                                      \
    return Enter<ApiClass::class>(#symbol, [&]() -> CUresult { return entry::body(TUTTI_ARGUMENTS types); }); \
  }
#define CU_PER_THREAD(symbol, name, version, class, body, types) \
  TUTTI_EXPORT CUresult symbol(TUTTI_PARAMETERS types) {         \
    return Enter<ApiClass::class>(#symbol, [&]() -> CUresult {   \
      const PerThreadDefaultStream scope;                        \
      return entry::body(TUTTI_ARGUMENTS types);                 \
    });                                                          \
  }
#define CU_NONE(symbol, name, version)  \
  TUTTI_EXPORT CUresult symbol() {      \
    static constinit bool said = false; \
    return Unsupported(#symbol, said);  \
  }
#define CU_NONE_PER_THREAD CU_NONE
#define CU_REFUSED(symbol, name, version, reason) \
  TUTTI_EXPORT CUresult symbol() {                \
    static constinit bool said = false;           \
    return Unsupported(#symbol, said, reason);    \
  }
#define CU_HIDDEN(symbol, name, version) \
  static CUresult symbol() {             \
    static constinit bool said = false;  \
    return Unsupported(#symbol, said);   \
  }
#define CU_HIDDEN_PER_THREAD CU_HIDDEN
#include "cuda/api.def"

// Identifies this library as not the vendor's: searches for the vendor's check for the symbol, without loading the
// library.
TUTTI_EXPORT const char* tuttiVersion() { return TUTTI_VERSION; }

namespace {

const Export kExports[] = {
#define CU_ENTRY(symbol, name, version, class, body, types) \
  {#name, #symbol, version, false, ApiClass::class, reinterpret_cast<void (*)()>(&symbol)},
#define CU_PER_THREAD(symbol, name, version, class, body, types) \
  {#name, #symbol, version, true, ApiClass::class, reinterpret_cast<void (*)()>(&symbol)},
#define CU_NONE(symbol, name, version) \
  {#name, #symbol, version, false, ApiClass::unsupported, reinterpret_cast<void (*)()>(&symbol)},
#define CU_NONE_PER_THREAD(symbol, name, version) \
  {#name, #symbol, version, true, ApiClass::unsupported, reinterpret_cast<void (*)()>(&symbol)},
#define CU_HIDDEN CU_NONE
#define CU_HIDDEN_PER_THREAD CU_NONE_PER_THREAD
#include "cuda/api.def"
};

}  // namespace

std::span<const Export> Exports() { return kExports; }

}  // namespace tutti::client
