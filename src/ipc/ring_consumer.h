// The server's end of a client's ring. It copies records out of memory that the client can still write, keeps its own
// cursor, and trusts nothing: the copies it returns are yet to be validated (wire/validate.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/error.h"
#include "wire/channel_layout.h"
#include "wire/record.h"

namespace tutti::ipc {

// One thread at a time (whichever holds the session); handing over between threads needs synchronisation. The channel
// outlives it.
class RingConsumer {
 public:
  explicit RingConsumer(wire::Channel* channel);

  // The next published record, nothing if there is none, or an error if it is malformed; the ring is unusable after an
  // error. The record's bytes stay valid until the next call.
  Result<std::optional<wire::Untrusted<wire::RawRecord>>> Next();

  // Whether a record is published, without taking it. seq_cst: this is the doorbell protocol's second check.
  bool Peek() const;

  // Returns the slots of all records taken so far to the producers and wakes those that wait for room. Called after a
  // batch, and by Next itself before it holds so many slots that producers could starve.
  void ReleaseSlots();

  // The position of the next record: the number of slots consumed so far.
  uint64_t cursor() const { return cursor_; }

 private:
  struct Buffer {
    alignas(16) uint8_t bytes[wire::kBodyBytes + (wire::kMaxRecordSlots - 1) * wire::kContinuationBytes];
  };

  wire::ChannelHeader* header_;
  wire::Slot* ring_;
  uint64_t cursor_ = 0;
  uint64_t released_ = 0;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace tutti::ipc
