// Advances the streams of one Space: which record may start, what a finished one unblocks, what is reported when. Knows
// nothing of SMs. Not thread-safe: the Space's lock is held around every call.
//
// A record may start when it is first in its stream and, in the legacy order, its batch is first. Only the failure of a
// device walks all streams. A wait can only name earlier records (later tickets are clamped to its own), so no client
// can deadlock its streams.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/common/deferred.h"
#include "device/cpu/schedule/errands.h"
#include "device/cpu/stream/context_group.h"
#include "device/cpu/stream/operation.h"
#include "device/cpu/stream/stream.h"
#include "device/device.h"

namespace tutti::device::cpu {

class StreamEngine {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // The operation's task may run; calls TaskDone when it has. False: there is nothing to run, it is done.
    virtual bool Start(Operation* operation) = 0;
    // The value of a condition of the device; 0 if there is none.
    virtual uint32_t ValueOf(uint32_t device, uint64_t condition) const = 0;
    virtual void SetValueOf(uint32_t device, uint64_t condition, uint32_t value) = 0;
    // The device's sticky error: its tasks are not started, and nothing waits any more.
    virtual int32_t DeviceError(uint32_t device) const = 0;
  };

  // `most_backlog`: bound on what waits in its streams (wire/backlog.h), counted against `host`, which outlives it.
  StreamEngine(Owner* owner, Sink* sink, uint32_t most_backlog, HostShare* host)
      : owner_(owner), sink_(sink), pool_(most_backlog, host) {}
  ~StreamEngine();

  Status Create(uint32_t number, const StreamOptions& options);
  Status Destroy(uint32_t number);
  // Null if there is none.
  Stream* Find(uint32_t number) const;

  // Whether the stream may have an operation of this kind now: conditional nodes are whole, in streams outside of the
  // legacy order, and hold only tasks, markers and each other.
  static Status Admit(Stream* stream, Operation::Kind kind);
  // Fails if the backlog is full.
  Result<Operation*> NewOperation(Operation::Kind kind, uint64_t ticket, uint64_t argument_bytes = 0);
  void Enqueue(Stream* stream, Operation* operation);
  void TaskDone(Operation* operation);
  void HostCallDone(uint32_t number, uint64_t token);
  // The device has failed: completes all records that do not run.
  void Drain(uint32_t device);

  // Releases the item when all work submitted so far is done.
  void Defer(Deferred item) { deferred_.Defer(std::move(item), &released_); }
  // Releases it as soon as the lock is released.
  void Release(Deferred item) { released_.push_back(std::move(item)); }
  // Items to be released outside the lock.
  std::vector<Deferred> TakeReleased() { return std::exchange(released_, {}); }
  bool has_released() const { return !released_.empty(); }

  // Deferred callbacks (Errands): to run once the lock is released.
  Errands& errands() { return errands_; }

  // No more reports: the Space is being destroyed.
  void Mute() { sink_ = nullptr; }

 private:
  void List(Stream* stream);
  void Run();
  void Look(Stream* stream);
  bool Rests(Stream* stream);
  bool Begin(Stream* stream, Operation* operation);
  void ReachEvent(uint32_t event, uint64_t ticket);
  void Pass(Stream* stream);
  void Complete(Stream* stream);
  void WakeWaiters(Stream* stream);
  void Remove(Stream* stream);

  Owner* const owner_;
  Sink* sink_;
  std::vector<std::unique_ptr<Stream>> streams_;  // by number
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<ContextGroup>> groups_;  // by device, context
  OperationPool pool_;
  DeferredRelease deferred_;
  std::vector<Deferred> released_;
  std::vector<uint64_t> event_tickets_;  // by event: of the recording whose time it has
  Errands errands_;
  Stream* listed_head_ = nullptr;
  Stream* listed_tail_ = nullptr;
};

}  // namespace tutti::device::cpu
