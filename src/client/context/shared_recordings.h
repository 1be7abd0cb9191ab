// The recordings of an event that several processes use: what an Event asks for them (client/copy/shared_event.h).
#pragma once

#include <cstdint>

#include "client/base/answer.h"
#include "wire/ring_layout.h"

namespace tutti::client {

class Stream;

// Thread-safe.
class SharedRecordings {
 public:
  virtual ~SharedRecordings() = default;

  // What names it to other processes. INVALID_VALUE if another process has created it.
  virtual Answer<wire::ExportedMemory> Name() = 0;
  // Counts a recording, and has the stream say when it is reached. Its number.
  virtual Answer<uint64_t> Record(Stream& stream) = 0;
  // Whether nobody has recorded it since, in any process.
  virtual bool IsLast(uint64_t number) const = 0;

  // SUCCESS or NOT_READY, of the last recording that anybody has begun.
  virtual int Query() const = 0;
  virtual int Synchronize() const = 0;
  // Work submitted to `stream` from now on waits for it.
  virtual int MakeWait(Stream& stream) const = 0;
};

}  // namespace tutti::client
