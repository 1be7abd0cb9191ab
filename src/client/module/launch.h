// Launches.
//
// This is the hot path: a launch is a few checks of local data and one record. It takes no lock and allocates nothing;
// only the first launch of a kernel with a new block shape asks the server (Function::Prepared).
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
  uint32_t environment = 0;  // wire::LaunchBody
};

// The function to launch, in the stream's context: one of a module, or a kernel of a library, which the API accepts as
// well.
Answer<Function*> ResolveFunction(cuda::CUfunction handle, Context& context);

// The result for a grid or block that no kernel of the device can have, when the caller is the runtime, which passes
// this number of its own on unchanged. The driver API has no such result; other callers get INVALID_VALUE.
inline constexpr int kInvalidConfiguration = 9;  // cudaErrorInvalidConfiguration

// The two halves of a deferred launch: the check that the function may be launched this way in the context, and the
// packing of its arguments (see Launch) into as many bytes as its info says.
int CheckLaunch(const Context& context, const Function& function, const LaunchShape& shape);
int PackArguments(const Function& function, void* const* parameters, void* const* extra, uint8_t* out);

// The record's of a launch of the function, whose id for the block shape is `kernel`, without its arguments.
wire::LaunchBody BodyOf(const Function& function, const LaunchShape& shape, uint32_t kernel);

// CUDA_LAUNCH_BLOCKING=1: every launch waits until its kernel is done, but for streams that never block. Set before the
// first launch.
inline constinit bool launches_block = false;

// `parameters`: one pointer per kernel parameter; `extra`: a list that names one packed buffer. One of the two, or
// neither for a kernel without parameters. Errors are CUDA's for a launch, or kInvalidConfiguration. Thread-safe.
int Launch(Stream& stream, Function& function, const LaunchShape& shape, void* const* parameters, void* const* extra);

}  // namespace tutti::client
