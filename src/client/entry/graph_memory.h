// Stream-ordered allocations and frees while the stream is captured: nodes of its graph. Thread-safe.
#pragma once

#include <cstdint>

#include "client/context/device.h"
#include "client/context/stream.h"

namespace tutti::client::entry {

int CaptureAllocation(uint64_t* out, uint64_t bytes, Device& device, Stream& stream);
// INVALID_VALUE for memory that no graph allocates.
int CaptureFree(Stream& stream, uint64_t address);

}  // namespace tutti::client::entry
