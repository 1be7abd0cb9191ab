// Copies of every shape, synchronous and asynchronous.
//
// Both sides of a copy are addresses: device and pinned memory lie in the window, where client and server see the same
// bytes; everything else is host memory that only this process can read. Of the window this process may reach all, or
// the host part alone (wire/window_shape.h). What it does not reach the device copies (client/copy/relay.h); else:
//
//   synchronous            wait for the work the copy must come after, then copy here, at memory speed
//   nothing to wait for    the same, also for asynchronous ones unless they are large and the device can do them itself
//   window to window       a record in the ring
//   host to window         into staging memory of the window now, a record from there; large ones wait instead
//   window to host         waits, as CUDA may for memory that is not pinned
//   registered host memory a host call, which copies when the stream reaches it (client/copy/host_copy.h)
#pragma once

#include <cstdint>

#include "client/context/stream.h"

namespace tutti::client {

// One side: `address` of the first byte, distances between rows and planes in bytes.
struct CopySide {
  uint64_t address = 0;
  uint64_t pitch = 0;
  uint64_t plane = 0;
};

struct CopyShape {
  uint64_t row_bytes = 0;
  uint64_t rows = 1;
  uint64_t planes = 1;

  bool empty() const { return row_bytes == 0 || rows == 0 || planes == 0; }
  uint64_t bytes() const { return row_bytes * rows * planes; }
};

struct CopyRequest {
  CopySide destination;
  CopySide source;
  CopyShape shape;
};

// Bytes from the first to the end of the last row; the shape is not empty. If that overflows, more than there are.
uint64_t ExtentOfRows(const CopySide& side, const CopyShape& shape);
inline uint64_t Extent(const CopySide& side, const CopyShape& shape) {
  return shape.rows == 1 && shape.planes == 1 ? shape.row_bytes : ExtentOfRows(side, shape);
}

// The record's.
wire::CopyBody BodyOf(const CopyRequest& request);

// One row.
inline CopyRequest Linear(uint64_t destination, uint64_t source, uint64_t bytes) {
  return {{destination, bytes, bytes}, {source, bytes, bytes}, {bytes, 1, 1}};
}
inline uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// kSourceNow: asynchronous, but the source may change as soon as the call has returned.
enum class CopyMode { kSynchronous, kAsynchronous, kSourceNow };

// The kind of memory the caller declares each side to be; kAny leaves it to the driver.
enum class SideKind { kAny, kHost, kDevice };

// INVALID_VALUE for null or foreign addresses, sizes that overflow, and ranges that leave the allocation they begin in.
int CheckSide(const CopySide& side, const CopyShape& shape, SideKind kind);

// Whether this process may touch a side, or both, which have been checked.
bool Reaches(const CopySide& side, const CopyShape& shape);
bool ReachesBoth(const CopyRequest& request);

// Copies now, in this thread. Both sides, host memory or window, have been checked and are reached. Does not
// synchronise with other work.
void CopyHere(const CopyRequest& request);
// Has the device copy. Both sides lie in the window and have been checked.
void SubmitCopy(Stream& stream, const CopyRequest& request);

// Checks both sides, then copies in the stream. Thread-safe.
int Copy(Stream& stream, const CopyRequest& request, CopyMode mode, SideKind destination = SideKind::kAny,
         SideKind source = SideKind::kAny);

}  // namespace tutti::client
