// A call of a driver that does what another one does, but for what its plan says (vendor_fault/plan.h).
#pragma once

#include <unistd.h>

#include <tuple>

#include "client/process/arguments.h"
#include "vendor_fault/escape.h"
#include "vendor_fault/plan.h"

namespace tutti::cuda {

// `amend`(symbol, arguments, number) puts another answer into what the call has written.
template <typename Function, typename Arguments, typename Amend>
int Forward(const char* symbol, const Arguments& arguments, Amend amend) {
  constexpr int kSuccess = 0, kNotInitialized = 3, kFirstEscape = 900;
  const auto lie = gpu::LieFor(symbol);
  if (lie && lie->action == "fail") return static_cast<int>(lie->number);
  if (lie && lie->action == "exit") _exit(static_cast<int>(lie->number));
  while (lie && lie->action == "hang") pause();
  if (lie && lie->action == "late") usleep(static_cast<useconds_t>(lie->number * 1000));
  if (lie && lie->action == "escape") {
    if (const int attempt = gpu::Escape(); attempt != 0) return kFirstEscape + attempt;
  }
  const auto function = reinterpret_cast<Function>(gpu::TrueFunction(symbol));
  if (function == nullptr) return kNotInitialized;
  const int result = std::apply(function, arguments);
  if (lie && lie->action == "answer" && result == kSuccess) amend(symbol, arguments, lie->number);
  return result;
}

}  // namespace tutti::cuda

// Exports a row of a vendor.def, CU_VENDOR(symbol, need, types), as such a call.
#define TUTTI_FORWARD(symbol, types, amend)                                                                           \
  extern "C" __attribute__((visibility("default"))) CUresult symbol(TUTTI_PARAMETERS types) {                         \
    return static_cast<CUresult>(Forward<CUresult(*) types>(#symbol, std::make_tuple(TUTTI_ARGUMENTS types), amend)); \
  }
