#include "client/session/trace.h"

#include <atomic>

#include "base/log.h"
#include "client/session/gate.h"
#include "cuda/result.h"

namespace tutti::client {

int Traced(const char* symbol, int result) {
  const char* name = cuda::ResultName(result);
  log::Write(log::Level::kInfo, fmt::format("{} -> {}", symbol, name != nullptr ? name : "?"));
  return result;
}

int Unsupported(const char* symbol, bool& said) {
  if (!std::atomic_ref<bool>(said).exchange(true, std::memory_order_relaxed)) {
    log::Warning("{} is not supported: it returns CUDA_ERROR_NOT_SUPPORTED", symbol);
  }
  return Gate::tracing() ? Traced(symbol, cuda::CUDA_ERROR_NOT_SUPPORTED) : cuda::CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace tutti::client
