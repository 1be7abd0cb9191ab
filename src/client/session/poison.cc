#include "client/session/poison.h"

#include "base/log.h"
#include "client/session/gate.h"

namespace tutti::client {

void Poison(const char* file, int line, const char* what) {
  Gate::Close(cuda::CUDA_ERROR_UNKNOWN);
  log::Error("internal error in libcuda ({}:{}): {}; every further call fails with CUDA_ERROR_UNKNOWN", file, line,
             what);
}

}  // namespace tutti::client
