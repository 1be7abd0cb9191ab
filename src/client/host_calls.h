// Functions of the program that run in stream order (cuLaunchHostFunc, cuStreamAddCallback).
//
// They run on one thread of the library's own, started with the first of them, one after the other in the order in
// which the streams reach them. The stream goes on when its function has returned. The thread blocks all signals: the
// program's handlers never run on it.
#pragma once

#include "client/stream.h"
#include "cuda/types.h"

namespace tutti::client {

// Thread-safe. OUT_OF_MEMORY if the thread cannot be started.
int SubmitHostFunction(Stream& stream, cuda::CUhostFn function, void* user);
int SubmitCallback(Stream& stream, cuda::CUstream handle, cuda::CUstreamCallback callback, void* user);

}  // namespace tutti::client
