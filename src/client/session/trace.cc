#include "client/session/trace.h"

#include <atomic>

#include "base/log.h"
#include "client/base/complaint_history.h"
#include "client/session/gate.h"
#include "cuda/result.h"

namespace tutti::client {

int Traced(const char* symbol, int result) {
  const char* name = cuda::ResultName(result);
  log::Write(log::Level::kInfo, fmt::format("{} -> {}", symbol, name != nullptr ? name : "?"));
  return result;
}

int Unsupported(const char* symbol, bool& said, const char* reason) {
  if (!std::atomic_ref<bool>(said).exchange(true, std::memory_order_relaxed)) {
    const std::string text = fmt::format("CUDA_ERROR_NOT_SUPPORTED: {} is not supported{}{}", symbol,
                                         reason != nullptr ? ": " : "", reason != nullptr ? reason : "");
    ComplaintHistory::Get().Add(text);
    log::Warning("{}", text);
  }
  return Gate::tracing() ? Traced(symbol, cuda::CUDA_ERROR_NOT_SUPPORTED) : cuda::CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace tutti::client
