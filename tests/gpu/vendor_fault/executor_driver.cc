// The driver of vendor_fault.cc as executors want one: with their symbols (executor/vendor.def), and recognisable as
// ours.
#include "cuda/types.h"
#include "vendor_fault/forward.h"

namespace tutti::cuda {
namespace {

constexpr auto kNothingToAmend = [](const auto&...) {};

}  // namespace

#define CU_VENDOR(symbol, need, types) TUTTI_FORWARD(symbol, types, kNothingToAmend)
#include "executor/vendor.def"
#undef CU_VENDOR

}  // namespace tutti::cuda

extern "C" __attribute__((visibility("default"))) const char* tuttiVersion() { return "a driver that fails by a plan"; }
