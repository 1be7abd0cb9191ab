// The driver of vendor_fault.cc as executors want one: with their symbols (executor/vendor.def), and recognisable as
// ours.
#include <unistd.h>

#include <tuple>

#include "client/process/arguments.h"
#include "cuda/types.h"
#include "vendor_fault/plan.h"

namespace tutti::cuda {
namespace {

template <typename Function, typename Arguments>
CUresult Forward(const char* symbol, const Arguments& arguments) {
  const auto lie = gpu::LieFor(symbol);
  if (lie && lie->action == "fail") return static_cast<CUresult>(lie->number);
  if (lie && lie->action == "exit") _exit(static_cast<int>(lie->number));
  while (lie && lie->action == "hang") pause();
  const auto function = reinterpret_cast<Function>(gpu::TrueFunction(symbol));
  return function == nullptr ? CUDA_ERROR_NOT_INITIALIZED : std::apply(function, arguments);
}

}  // namespace

#define CU_VENDOR(symbol, need, types)                                                        \
  extern "C" __attribute__((visibility("default"))) CUresult symbol(TUTTI_PARAMETERS types) { \
    return Forward<CUresult(*) types>(#symbol, std::make_tuple(TUTTI_ARGUMENTS types));       \
  }
#include "executor/vendor.def"
#undef CU_VENDOR

}  // namespace tutti::cuda

extern "C" __attribute__((visibility("default"))) const char* tuttiVersion() { return "a driver that fails by a plan"; }
