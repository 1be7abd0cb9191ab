// Calls of the driver from a step.
//
//   CU(cuMemAlloc_v2, &address, bytes);            must succeed, or the process ends and says why
//   const int result = CU_TRY(cuCtxSynchronize);   any result; kLacks if there is no such function
#pragma once

#include <string>

#include "frame/progress.h"
#include "frame/vendor.h"

namespace tutti::gpu {

inline constexpr int kLacks = -1;

template <typename... P, typename... A>
int Call(const char* symbol, int (*function)(P...), A... arguments) {
  if (function == nullptr) return kLacks;
  EnterCall(symbol);
  const int result = function(arguments...);
  LeaveCall();
  return result;
}

// "CUDA_ERROR_ILLEGAL_ADDRESS (700)".
std::string NameOf(int result);
// Goes on if `result` is success; a function that is missing or not supported is something that the driver lacks.
void Check(const char* symbol, int result);

#define CU_TRY(symbol, ...) ::tutti::gpu::Call(#symbol, ::tutti::gpu::Driver().symbol __VA_OPT__(, ) __VA_ARGS__)
#define CU(symbol, ...) ::tutti::gpu::Check(#symbol, CU_TRY(symbol __VA_OPT__(, ) __VA_ARGS__))

}  // namespace tutti::gpu
