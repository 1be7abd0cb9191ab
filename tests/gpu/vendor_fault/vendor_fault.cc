// A libcuda.so.1 that does what another one does, but for what its plan says (vendor_fault/plan.h): the GPU run must
// say what such a driver did, and come to its end.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "client/process/arguments.h"
#include "frame/vendor_types.h"
#include "vendor_fault/plan.h"

namespace tutti::cuda {
namespace {

// Puts another answer into what a call has written.
template <typename... A>
void Amend(const char* symbol, const std::tuple<A...>& arguments, long number) {
  using Arguments = std::tuple<A...>;
  if constexpr (std::is_same_v<Arguments, std::tuple<int*, int, int>>) {
    if (std::strcmp(symbol, "cuDeviceGetAttribute") == 0 && std::get<1>(arguments) == CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)
      *std::get<0>(arguments) = static_cast<int>(number);
  }
  if constexpr (std::is_same_v<Arguments, std::tuple<size_t*, size_t*>>)
    *std::get<0>(arguments) = static_cast<size_t>(number);
}

template <typename Function, typename Arguments>
CUresult Forward(const char* symbol, const Arguments& arguments) {
  const auto lie = gpu::LieFor(symbol);
  if (lie && lie->action == "fail") return static_cast<CUresult>(lie->number);
  if (lie && lie->action == "exit") _exit(static_cast<int>(lie->number));
  while (lie && lie->action == "hang") pause();
  if (lie && lie->action == "late") usleep(static_cast<useconds_t>(lie->number * 1000));
  const auto function = reinterpret_cast<Function>(gpu::TrueFunction(symbol));
  if (function == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const CUresult result = std::apply(function, arguments);
  if (lie && lie->action == "answer" && result == CUDA_SUCCESS) Amend(symbol, arguments, lie->number);
  return result;
}

}  // namespace

#define CU_VENDOR(symbol, need, types)                                                        \
  extern "C" __attribute__((visibility("default"))) CUresult symbol(TUTTI_PARAMETERS types) { \
    return Forward<CUresult(*) types>(#symbol, std::make_tuple(TUTTI_ARGUMENTS types));       \
  }
#include "frame/vendor.def"
#undef CU_VENDOR

}  // namespace tutti::cuda
