// Memsets of every width and shape.
#pragma once

#include <cstdint>

#include "client/context/stream.h"
#include "client/copy/copy.h"

namespace tutti::client {

struct FillRequest {
  uint64_t address = 0;
  uint64_t width = 0;  // in elements
  uint64_t height = 1;
  uint64_t pitch = 0;  // bytes from row to row; ignored for one row
  uint64_t value = 0;
  uint32_t element_bytes = 1;  // 1, 2, 4 or 8
};

// The record's.
wire::FillBody BodyOf(const FillRequest& request);

// The bytes it writes. INVALID_VALUE for addresses outside device memory or not aligned to the element, and for ranges
// that leave their allocation. Thread-safe.
Answer<CopyShape> CheckFill(const FillRequest& request);

// Checks, then fills in the stream. A synchronous fill is done when this returns. Thread-safe.
int Fill(Stream& stream, const FillRequest& request, CopyMode mode);

}  // namespace tutti::client
