// A libcuda.so.1 that does what another one does, but for what its plan says (vendor_fault/plan.h): the GPU run must
// say what such a driver did, and come to its end.
#include <cstring>
#include <tuple>
#include <type_traits>

#include "frame/vendor_types.h"
#include "vendor_fault/forward.h"

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

}  // namespace

#define CU_VENDOR(symbol, need, types) \
  TUTTI_FORWARD(symbol, types, [](const char* name, const auto& a, long number) { Amend(name, a, number); })
#include "frame/vendor.def"
#undef CU_VENDOR

}  // namespace tutti::cuda
