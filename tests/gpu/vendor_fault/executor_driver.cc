// The driver of vendor_fault.cc as executors want one: with their symbols (executor/vendor.def).
#include "cuda/types.h"
#include "vendor_fault/forward.h"

namespace tutti::cuda {
namespace {

constexpr auto kNothingToAmend = [](const auto&...) {};

// Now: later its process may open less.
[[gnu::constructor]] void OpenTrueDriver() { gpu::TrueFunction("cuInit"); }

}  // namespace

#define CU_VENDOR(symbol, need, types) TUTTI_FORWARD(symbol, types, kNothingToAmend)
#include "executor/vendor.def"
#undef CU_VENDOR

}  // namespace tutti::cuda
