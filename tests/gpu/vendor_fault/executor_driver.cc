// The driver of vendor_fault.cc as executors want one: with their symbols (executor/vendor.def).
#include <tuple>
#include <type_traits>

#include "cuda/types.h"
#include "vendor_fault/forward.h"

namespace tutti::cuda {
namespace {

// Of the call alone that the plan means: executors ask for the N-th attribute by their N-th call.
template <typename... A>
void Amend(const std::tuple<A...>& arguments, long number) {
  if constexpr (std::is_same_v<std::tuple<A...>, std::tuple<int*, int, int>>)
    *std::get<0>(arguments) = static_cast<int>(number);
  if constexpr (std::is_same_v<std::tuple<A...>, std::tuple<size_t*, const CUmemAllocationProp*, int>>)
    *std::get<0>(arguments) = static_cast<size_t>(number);
}

// Now: later its process may open less.
[[gnu::constructor]] void OpenTrueDriver() { gpu::TrueFunction("cuInit"); }

}  // namespace

#define CU_VENDOR(symbol, need, types) \
  TUTTI_FORWARD(symbol, types, [](const char*, const auto& arguments, long number) { Amend(arguments, number); })
#include "executor/vendor.def"
#undef CU_VENDOR

}  // namespace tutti::cuda
