// The stream that a call means by the handle it is given.
#pragma once

#include "client/base/answer.h"
#include "client/context/stream.h"
#include "cuda/types.h"

namespace tutti::client::entry {

// What a call wants of a stream: that it does something, or is waited for; or only to be told what it is.
enum class StreamUse { kWork, kAsk };

// 0 by the kind of entry, 1 and 2 the default streams, or a created one. Its context is usable. Work in the legacy
// stream would wait for what is only being captured: STREAM_CAPTURE_IMPLICIT, and the captures are broken.
Answer<Stream*> StreamOf(cuda::CUstream handle, StreamUse use = StreamUse::kWork);

}  // namespace tutti::client::entry
