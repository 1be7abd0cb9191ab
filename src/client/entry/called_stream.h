// Resolves the stream handle of a call.
#pragma once

#include "client/base/answer.h"
#include "client/context/stream.h"
#include "cuda/types.h"

namespace tutti::client::entry {

// How a call uses the stream: to submit work or wait, or only to query it.
enum class StreamUse { kWork, kAsk };

// Resolves 0 by the kind of entry, 1 and 2 as the default streams, others as created streams, and checks the context.
// Work in the legacy stream would wait for streams being captured: STREAM_CAPTURE_IMPLICIT, and those captures are
// invalidated.
Answer<Stream*> StreamOf(cuda::CUstream handle, StreamUse use = StreamUse::kWork);

}  // namespace tutti::client::entry
