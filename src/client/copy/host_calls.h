// Work that streams have the client process do: host functions of the program (cuLaunchHostFunc, cuStreamAddCallback),
// copies of host memory (client/copy/host_copy.h), and looking for values (client/copy/value_waits.h). The stream
// resumes when the call is done.
//
// Two library threads, started with the first call, serve them. One takes the calls as streams reach them, does the
// copies, and looks for the values. The other runs the functions sequentially in that order: a function may take as
// long as it likes, or wait for a copy of another stream. Both block all signals, so the program's handlers never run
// on them.
#pragma once

#include "client/context/stream.h"
#include "client/copy/host_copy.h"
#include "client/copy/value_waits.h"
#include "cuda/types.h"

namespace tutti::client {

// Thread-safe. OUT_OF_MEMORY if the threads cannot be started.
int SubmitHostFunction(Stream& stream, cuda::CUhostFn function, void* user);
int SubmitCallback(Stream& stream, cuda::CUstream handle, cuda::CUstreamCallback callback, void* user);
int SubmitHostCopy(Stream& stream, HostCopies::Handle copy);
int SubmitValueWait(Stream& stream, ValueWaits::Handle wait);

}  // namespace tutti::client
