// A kernel as the compiler makes them, in as many variants as the tests need:
//   TUTTI_TEST_KERNEL  its name
//   TUTTI_TEST_MAGIC   of its descriptor
//   TUTTI_TEST_ESCAPE  if set, its locations lie outside the object
//   TUTTI_TEST_LANES   what it makes of the lanes of each warp; 42 if not set
//   TUTTI_TEST_PARAMS  bytes of its parameters
#include "guest/cpu/kernel_abi.h"

#ifndef TUTTI_TEST_LANES
#define TUTTI_TEST_LANES 42
#endif
#ifndef TUTTI_TEST_PARAMS
#define TUTTI_TEST_PARAMS 0
#endif

namespace {

using namespace tutti::guest;

void Run(WarpState* warps, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) warps[i].lanes = TUTTI_TEST_LANES;
}

constexpr SourceLocation kLocations[] = {{7, 3, "kernel.cu"}};

}  // namespace

extern "C" __attribute__((visibility("default"))) const KernelDescriptor tutti_kernel;
const KernelDescriptor tutti_kernel = {
    .magic = TUTTI_TEST_MAGIC,
    .abi_version = kAbiVersion,
    .name = TUTTI_TEST_KERNEL,
    .run = Run,
    .flags = 0,
    .param_bytes = TUTTI_TEST_PARAMS,
    .static_shared_bytes = 0,
    .local_bytes = 0,
    .stack_bytes = 4096,
    .block = {32, 1, 1},
    .location_count = 1,
#ifdef TUTTI_TEST_ESCAPE
    .locations = reinterpret_cast<const SourceLocation*>(16),
#else
    .locations = kLocations,
#endif
};
