// A device of any number of SMs, and its clients, in simulated time: a discrete-event run of the real scheduler, gate
// and accounts, on one thread. What takes time on a real machine takes simulated time here: blocks, wake-ups, signals,
// and the scheduler's lock, which its callers get one after the other, in the order in which they come.
//
// How long a call holds the lock is either measured as it runs (ManySmsCosts::hold_ns = 0), or a constant: then the
// result does not depend on the machine. What one thread measures has the scheduler's state in its own cache; that it
// moves between cores is what handoff_ns stands for.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {

// Each launches grids of `blocks` blocks, the next one `pause_ns` after one has ended; 0: it has queued it.
struct MadeUpClient {
  ShareLimits limits;
  uint64_t blocks = 1;
  uint64_t block_ns = 1;
  uint64_t pause_ns = 0;
  bool any_order = false;  // of their blocks
};

struct ManySmsCosts {
  uint64_t hold_ns = 0;  // of the lock, per call; 0: as measured
  uint64_t handoff_ns = 0;  // until the next caller has the lock and what it guards
  uint64_t wake_ns = 5'000;  // until a sleeping thread runs
  uint64_t signal_ns = 3'000;  // until a thread has left its block
};

// Of the time between Begin and End.
struct ManySmsResult {
  uint64_t ns = 0;
  uint64_t decisions = 0;  // blocks, or runs of blocks, given to SMs
  uint64_t calls = 0;      // with the lock
  uint64_t held_ns = 0;    // the lock, handing it over included
  uint64_t waited_ns = 0;  // for the lock, by all
  uint64_t busy_ns = 0;    // SMs with blocks
  std::vector<uint64_t> client_ns;  // of these, by client

  double HeldPart() const { return static_cast<double>(held_ns) / static_cast<double>(ns); }
};

// Not thread-safe; one at a time.
class ManySms final : public LookTimer, private LockWatcher {
 public:
  ManySms(uint32_t sms, const std::vector<MadeUpClient>& clients, const ManySmsCosts& costs,
          Policy policy = Policy::kShare);
  ~ManySms();

  // Runs for `settle_ns`, then for `ns`, of which it tells.
  ManySmsResult Run(uint64_t settle_ns, uint64_t ns);

  Scheduler& scheduler() { return scheduler_; }
  // The longest time from a client's launch to its first block, in Run's `ns`.
  uint64_t longest_wait_ns(uint32_t client) const { return clients_[client].longest_wait_ns; }

  void Arm(uint64_t at_ns) override;

 private:
  enum class What : uint8_t { kLook, kEnd, kWake, kRelease, kLaunch, kTick };
  struct Event {
    uint64_t at_ns;
    uint64_t order;
    What what;
    uint32_t index;    // of an SM or a client
    uint32_t version;  // of that SM: events of earlier ones are void
    bool operator<(const Event& other) const {  // the next one is the largest
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };
  struct Client {
    SpaceShare share;
    MadeUpClient made_up;
    Task task;
    BlockHabits habits;
    uint64_t launched_ns = 0;  // and no block of it has begun; else 0
    uint64_t longest_wait_ns = 0;
  };
  struct Sm {
    guest::GuestThread thread;
    uint32_t version = 0;
    Chunk chunk;
    Client* client = nullptr;  // whose blocks it runs
    Batch::Blocks piece;
    uint64_t finished = 0;     // blocks, of earlier pieces
    uint64_t begun_ns = 0;     // the piece
    uint64_t ends_ns = 0;
    uint64_t counted_ns = 0;   // until here its time is counted
    bool told = false;         // to stop
    bool asleep = false;
    bool woken = false;
  };
  struct Hold {
    double mean_ns = 0;
  };

  void Locked() override;
  void Unlocks() override;

  void At(uint64_t at_ns, What what, uint32_t index, uint32_t version = 0);
  void RunUntil(uint64_t at_ns);
  void Handle(const Event& event);
  template <typename Body>
  uint64_t Call(What what, const Body& body);
  void SeeWhoIsWokenOrTold();
  void Look(uint32_t index);
  void Begin(uint32_t index, uint64_t at_ns);
  void End(uint32_t index);
  ChunkResult Leave(Sm& sm, Batch& batch);
  void Launch(uint32_t index);
  void Count(Sm& sm, uint64_t at_ns);
  uint64_t Left(const Sm& sm) const;
  uint32_t IndexOf(const Client* client) const;

  static inline uint64_t clock_ns_ = 0;  // what the scheduler sees

  const ManySmsCosts costs_;
  uint64_t now_ns_ = 0;
  uint64_t order_ = 0;
  std::priority_queue<Event> events_;
  uint64_t lock_free_at_ns_ = 0;
  uint64_t locked_at_ns_ = 0, held_ns_ = 0;  // of the call that runs; by this machine's clock
  uint32_t locked_ = 0;                      // times, in that call
  Hold holds_[6];
  uint64_t timer_cost_ns_ = 0;
  uint64_t look_at_ns_ = kNever, looked_ns_ = 0;
  bool counts_ = false;
  ManySmsResult result_;

  BlockPool pool_;
  std::unordered_map<const guest::BlockRun*, uint64_t> left_ns_;  // of blocks that have been preempted
  Scheduler scheduler_;
  std::vector<Sm> sms_;
  std::deque<uint32_t> asleep_;
  uint32_t woken_ = 0;
  std::vector<Client> clients_;
};

}  // namespace tutti::device::cpu
