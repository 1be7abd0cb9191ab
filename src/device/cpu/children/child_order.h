// What one grid has launched from its kernel: in which order it begins, and when all of it is over.
//
// A grid has streams of its own: one for each block, one for each thread that wants it, those that its kernel makes,
// one for everything that is launched to be forgotten, and the tail. Each is a queue; none waits for another, except by
// events. A wait can only name a recording that was made before it, so nothing here can wait in a circle.
//
// The tail begins when the grid and all else that it has launched are over; what a child has in its own tail takes the
// child's place in its stream. So a kernel may go on for ever by its tail without growing.
//
// Knows nothing of devices. Not thread-safe: the Space's lock is held around every call.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "device/host_share.h"

namespace tutti::device::cpu {

struct ChildStream;
struct CpuOperation;

class ChildOrder {
 public:
  using Ready = std::vector<CpuOperation*>;  // what may begin now is appended

  // `pending` counts what waits in streams besides tasks, and outlives it.
  explicit ChildOrder(uint64_t* pending);
  ~ChildOrder();

  // Named streams and events, by handles. `hold`: for its memory.
  uint64_t CreateStream(HostHold hold);
  bool DestroyStream(uint64_t handle);  // after what is in it
  uint64_t CreateEvent(HostHold hold);
  bool DestroyEvent(uint64_t handle);

  // The streams that a launch can name: null where there is none of the handle.
  ChildStream* NamedStream(uint64_t handle) const;
  ChildStream* StreamOfBlock(uint64_t block);
  ChildStream* StreamOfThread(uint64_t block, uint32_t thread);
  ChildStream* StreamOfItsOwn();

  void Launch(ChildStream* stream, CpuOperation* task, Ready* ready);
  // False if there is no such event. `hold`: for the memory of what waits in the stream.
  bool Record(uint64_t event, ChildStream* stream, HostHold hold, Ready* ready);
  bool Wait(ChildStream* stream, uint64_t event, HostHold hold, Ready* ready);
  void Done(CpuOperation* task, Ready* ready);
  // All but the tail is over.
  bool empty() const { return unfinished_ == 0; }

  size_t at_tail() const { return tail_.size(); }
  void LaunchAtTail(CpuOperation* task) { tail_.push_back(task); }
  // The grid and all else are over: what it has at its tail is launched. False if there is nothing.
  bool BeginTail(Ready* ready);
  // For the tail of `before`, a task of this order, which is not Done yet.
  std::deque<CpuOperation*> TakeTail() { return std::move(tail_); }
  void LaunchBehind(CpuOperation* before, const std::deque<CpuOperation*>& tasks);

 private:
  struct Key {
    enum class Kind : uint8_t { kNamed, kBlock, kThread, kOwn } kind;
    uint64_t number;
    uint32_t thread;
    auto operator<=>(const Key&) const = default;
  };
  struct Event;
  friend struct ChildStream;

  ChildStream* StreamAt(const Key& key);
  void Advance(ChildStream* stream, Ready* ready);
  void Forget(ChildStream* stream);

  uint64_t* const pending_;
  std::map<Key, std::unique_ptr<ChildStream>> streams_;
  std::unordered_map<uint64_t, std::unique_ptr<Event>> events_;
  std::deque<CpuOperation*> tail_;
  uint64_t unfinished_ = 0;  // tasks, without the tail
  uint64_t last_handle_ = uint64_t{0x5d} << 48;  // like no address, and no named stream of CUDA's
};

}  // namespace tutti::device::cpu
