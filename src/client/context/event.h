// An event: a position in a stream, and the time at which it was reached.
//
// The position of an event without timing is known (the stream and its last ticket), so recording one sends nothing,
// except to a device that needs to be told of points (wire/device_traits.h). One with timing sends a record that makes
// the server write the time into the event's slot of the completion page. One of several processes counts its
// recordings in memory that they share (client/copy/shared_event.h).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "client/context/shared_recordings.h"
#include "client/context/stream.h"
#include "cuda/types.h"

namespace tutti::client {

class Context;
class Device;
class GraphNode;

// Thread-safe.
class Event {
 public:
  Event(Context& context, uint32_t time_slot, std::unique_ptr<SharedRecordings> shared)
      : context_(context),
        device_(DeviceOf(context)),
        context_id_(IdOf(context)),
        time_slot_(time_slot),
        shared_(std::move(shared)) {}

  static Event* Find(const void* handle) { return pool_.Find(handle); }
  // `shared`: of an event that several processes use, else null.
  static Answer<Event*> Create(Context& context, unsigned flags, std::unique_ptr<SharedRecordings> shared = nullptr);
  static int Destroy(Event* event);

  // What names it to other processes. INVALID_VALUE if it was not created for that, or not here.
  Answer<wire::ExportedMemory> Name() const;

  cuda::CUevent handle() { return reinterpret_cast<cuda::CUevent>(this); }
  bool BelongsTo(Context& context) const;
  bool timed() const { return time_slot_ != 0; }

  // If it was recorded in a capture: the capture's number and the stream's last nodes at that point
  // (client/graph/capture.h). Any other recording resets it.
  struct Captured {
    uint64_t capture = 0;  // 0: not
    std::vector<GraphNode*> nodes;
  };
  void SetCaptured(Captured captured) {
    std::lock_guard lock(mutex_);
    captured_ = std::move(captured);
  }
  Captured captured() const {
    std::lock_guard lock(mutex_);
    return captured_;
  }

  // Records the position after everything submitted to the stream so far. Until it returns, other threads see the
  // previous position.
  int Record(Stream& stream);
  // SUCCESS or NOT_READY; SUCCESS if it was never recorded.
  int Query() const;
  int Synchronize() const;
  // Work submitted to `stream` from now on waits for the last recorded position.
  int MakeWait(Stream& stream) const;
  // Device::Check of the device it belongs to.
  int CheckDevice() const;

  // The time from `start` to `end`. INVALID_HANDLE if either has no timing or was never recorded, NOT_READY if either
  // is not reached.
  static int Elapsed(const Event& start, const Event& end, float* milliseconds);

 private:
  static uint64_t IdOf(const Context& context);
  static const Device& DeviceOf(const Context& context);
  StreamMark mark() const {
    std::lock_guard lock(mutex_);
    return mark_;
  }
  // Whether the last recording was another process's: its position is none of our streams'.
  bool RecordedElsewhere() const;

  static constinit Pool<Event, 1 << 20> pool_;

  Context& context_;  // may have been destroyed
  const Device& device_;
  const uint64_t context_id_;
  const uint32_t time_slot_;  // 0: no timing
  const std::unique_ptr<SharedRecordings> shared_;  // null: of this process alone
  mutable std::mutex mutex_;
  StreamMark mark_;
  uint64_t number_ = 0;  // of the recording there, if it is shared
  Captured captured_;
};

}  // namespace tutti::client
