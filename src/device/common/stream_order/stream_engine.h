// Advances the streams of one Space: which record may begin, what one that is done unblocks, what is reported when.
// Knows nothing of the device. Not thread-safe: the Space's lock is held around every call.
//
// A record may begin when it is next in its stream and, in the legacy order, its batch is first. Only the failure of a
// device walks all streams. A wait can only name earlier records (later tickets are clamped to its own), so no client
// can deadlock its streams.
//
// A device that keeps the order of a stream itself has tasks *issued* to it: what is behind them begins before they are
// done, as long as it is for the device as well, or for nobody. So a wait for what is issued is the device's (Join).
// What is decided or done here waits for the stream to be *done*: host calls, conditional nodes, the values of
// conditions, and the other batch of a legacy order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/common/deferred.h"
#include "device/common/stream_order/context_group.h"
#include "device/common/stream_order/operation.h"
#include "device/common/stream_order/operation_pool.h"
#include "device/common/stream_order/stream.h"
#include "device/common/stream_order/wakes.h"
#include "device/device.h"

namespace tutti::device {

class StreamEngine {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // The operation's task may begin; TaskDone is called later, unless there is nothing to do.
    enum class Begun : uint8_t {
      kOver,  // there was nothing to do
      kRuns,  // what is behind it waits for it
      // The device runs what is issued in a stream in order, and TaskDone is called in that order. In a conditional
      // node, to which the stream may come back, that is the same as kRuns.
      kIssued,
    };
    virtual Begun Start(Operation* operation) = 0;
    // The device is to hold up the stream of `operation`, a wait, until `other`'s tasks up to other_ticket are done,
    // all of which are issued: it is issued, too. For owners that issue.
    virtual void Join(Operation* /*operation*/, const Stream& /*other*/) {}
    // The device is to note when the event's stream gets there: the event is issued, TaskDone is called for it, and its
    // time is there by then. False: its time is that at which it is known to be reached. For owners that issue.
    virtual bool Time(Operation* /*event*/) { return false; }
    // The stream gets to a kStore: what was before it is done, or is not any more where the device has failed or the
    // client has ended. Others wait for it.
    virtual void Store(Operation* /*operation*/) {}
    // Another stream may come to wait for what has been issued in this one up to now, and for no more. For owners that
    // issue.
    virtual void NotePoint(const Stream& /*stream*/) {}
    // A task is over, whether it has run or not: before anything that was deferred until then is released.
    virtual void TaskOver(Operation* operation) = 0;
    // The value of a condition of the device; 0 if there is none.
    virtual uint32_t ValueOf(uint32_t device, uint64_t condition) const = 0;
    virtual void SetValueOf(uint32_t device, uint64_t condition, uint32_t value) = 0;
    // The device's sticky error: its tasks are not started, and nothing waits any more.
    virtual int32_t DeviceError(uint32_t device) const = 0;
  };

  // `most_backlog`: bound on what waits in its streams (wire/backlog.h), counted against `host`, which outlives it.
  StreamEngine(Owner* owner, Sink* sink, OperationPool::Make make, uint32_t most_backlog, HostShare* host)
      : owner_(owner), sink_(sink), pool_(make, most_backlog, host) {}
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
  // ... and whatever was issued in its stream before it.
  // `ran`: it has kept a device busy for a while; else a loop of such operations rests now and then.
  void TaskDone(Operation* operation, bool ran = true);
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

  // Sleepers to be woken once the lock is released.
  Wakes TakeWakes() { return std::move(wakes_); }
  bool has_wakes() const { return !wakes_.empty(); }

  // No more reports: the Space is being destroyed.
  void Mute() { sink_ = nullptr; }

 private:
  void List(Stream* stream);
  void Run();
  void Look(Stream* stream);
  bool Rests(Stream* stream);
  bool Begin(Stream* stream, Operation* operation);
  bool BeginTask(Stream* stream, Operation* operation);
  bool BeginWait(Stream* stream, Operation* operation);
  bool BeginEvent(Stream* stream, Operation* operation);
  void ReachEvent(const Operation& operation);
  static void Issued(Stream* stream, Operation* operation);
  static void Settle(Stream* stream, Operation* last);
  void Pass(Stream* stream);
  void CompleteWhatIsDone(Stream* stream);
  void Complete(Stream* stream);
  void WakeWaiters(Stream* stream);
  bool JoinIsDone(const Operation& wait) const;
  void ListJoined(Stream* stream);
  void Remove(Stream* stream);

  Owner* const owner_;
  Sink* sink_;
  std::vector<std::unique_ptr<Stream>> streams_;  // by number
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<ContextGroup>> groups_;  // by device, context
  OperationPool pool_;
  DeferredRelease deferred_;
  std::vector<Deferred> released_;
  std::vector<uint64_t> event_tickets_;  // by event: of the recording whose time it has
  Wakes wakes_;
  Stream* listed_head_ = nullptr;
  Stream* listed_tail_ = nullptr;
};

}  // namespace tutti::device
