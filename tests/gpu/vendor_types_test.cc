// The toolkit's header beside ours: each function of the vendor table takes what the toolkit's takes, and the types and
// numbers that only the GPU run uses are the toolkit's.
// clang-format off: ours first, since the toolkit's header makes macros of some of its names
#include "frame/vendor_types.h"
namespace tutti::cuda {
#define CU_VENDOR(symbol, need, types) using Ours_##symbol = CUresult(*) types;
#include "frame/vendor.def"
#undef CU_VENDOR
}  // namespace tutti::cuda
#define __CUDA_API_VERSION_INTERNAL 1  // names without macros, and superseded versions, too
#include <cuda.h>
// clang-format on
#include <gtest/gtest.h>

namespace {

namespace ours = tutti::cuda;

template <typename... A, typename... B>
constexpr bool SameShape(int (*)(A...), ::CUresult (*)(B...)) {
  if constexpr (sizeof...(A) == sizeof...(B)) {
    return ((sizeof(A) == sizeof(B)) && ...);
  } else {
    return false;
  }
}
#define CU_VENDOR(symbol, need, types) static_assert(SameShape(ours::Ours_##symbol{}, &::symbol), #symbol);
#include "frame/vendor.def"
#undef CU_VENDOR

static_assert(sizeof(::CUmemAllocationHandleType) == sizeof(ours::CUmemAllocationHandleType));

#define SAME(name) static_assert(static_cast<long>(::name) == static_cast<long>(ours::name), #name)
SAME(CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING);
SAME(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME(CU_COREDUMP_ENABLE_ON_EXCEPTION);
SAME(CU_COREDUMP_FILE);
SAME(CU_COREDUMP_GENERATION_FLAGS);
SAME(CU_COMPUTEMODE_PROHIBITED);
SAME(CU_COMPUTEMODE_EXCLUSIVE_PROCESS);
static_assert((CU_COREDUMP_LIGHTWEIGHT_FLAGS | CU_COREDUMP_SKIP_ABORT) == ours::kLightweightCoredump);
static_assert(CU_RESOURCE_TYPE_LINEAR == 2);

TEST(VendorTypes, AreTheToolkits) {}

}  // namespace
