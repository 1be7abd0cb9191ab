#include "frame/call.h"

#include "cuda/result.h"
#include "frame/record.h"

namespace tutti::gpu {

std::string NameOf(int result) {
  if (result == kLacks) return "no such function";
  const char* const name = cuda::ResultName(result);
  return (name == nullptr ? "unknown result" : std::string(name)) + " (" + std::to_string(result) + ")";
}

void Check(const char* symbol, int result) {
  if (result == cuda::CUDA_SUCCESS) return;
  const bool lacks = result == kLacks || result == cuda::CUDA_ERROR_NOT_SUPPORTED;
  GiveUp(lacks ? Outcome::kLacks : Outcome::kFailed, std::string(symbol) + ": " + NameOf(result));
}

}  // namespace tutti::gpu
