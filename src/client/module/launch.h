// Launches.
//
// This is the hot path: a launch is a few checks against numbers in this process and one record. It takes no lock and
// allocates nothing; the first launch of a kernel with a new block shape asks the server once (Function::Prepared).
#pragma once

#include <cstdint>

#include "client/base/answer.h"
#include "client/context/stream.h"
#include "client/module/function.h"
#include "cuda/types.h"

namespace tutti::client {

struct LaunchShape {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t dynamic_shared_bytes = 0;
  uint32_t cluster[3] = {0, 0, 0};  // 0: no clusters
  bool cooperative = false;
};

// The function a launch means: one of a module, or a kernel of a library, which the API takes as well. In the stream's
// context.
Answer<Function*> ResolveFunction(cuda::CUfunction handle, Context& context);

// What the runtime is answered for a grid or block that no kernel of the device could have: its own error number, which
// the runtime hands on as it gets it. The driver API has no such result; there it is INVALID_VALUE.
inline constexpr int kInvalidConfiguration = 9;  // cudaErrorInvalidConfiguration

// The two halves of a launch, for one that is made later: whether the function may be launched so in the context, and
// its arguments (see Launch), packed into as many bytes as its info says.
int CheckLaunch(const Context& context, const Function& function, const LaunchShape& shape);
int PackArguments(const Function& function, void* const* parameters, void* const* extra, uint8_t* out);

// CUDA_LAUNCH_BLOCKING=1: every launch waits until its kernel is done. Set before the first launch.
inline constinit bool launches_block = false;

// `parameters`: one pointer per kernel parameter; `extra`: a list that names one packed buffer. One of the two, or
// neither for a kernel without parameters. Errors are CUDA's for a launch, or kInvalidConfiguration. Thread-safe.
int Launch(Stream& stream, Function& function, const LaunchShape& shape, void* const* parameters, void* const* extra);

}  // namespace tutti::client
