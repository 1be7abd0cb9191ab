// Clients that have ended and are being torn down. What they have counts as free (device::MemoryAccount), as to a
// program that begins when another has ended: whoever is refused memory meanwhile waits here until one of them is gone,
// and tries again.
//
// The same holds for clients of the machine's other servers, by what these say of themselves (wire/server_page.h). When
// one of their clients ends they know it a moment later than a program that waited for its end may, so for that moment
// a refusal waits, too.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "device/device.h"

namespace tutti::server {

// Main thread only.
class Departures {
 public:
  static constexpr uint64_t kTickNs = 1'000'000;
  static constexpr uint64_t kGraceNs = 20'000'000;  // until another server has seen that a client has ended
  static constexpr uint64_t kLongestNs = 2'000'000'000;  // that anybody waits for others

  // Memory that a client was refused.
  struct Refused {
    uint32_t client = 0;
    uint32_t device = 0;
    uint64_t bytes = 0;
    bool on_device = true;  // else of the host
    uint64_t first_ns = 0;  // when it was asked for first: NowNs(), as the rest
    uint64_t tried_ns = 0;  // ... and last
  };
  // Called once: true: it is to be tried again. False: nobody's end can help.
  using Answer = std::function<void(bool again)>;

  // `backend` outlives it. `tick_soon` has Tick called kTickNs later, once: somebody waits.
  Departures(device::Backend& backend, std::function<void()> tick_soon)
      : backend_(backend), tick_soon_(std::move(tick_soon)) {}

  // A client that has ended, with what it has on each device.
  void Begin(uint32_t client, std::vector<uint64_t> bytes);
  // All that it had is free.
  void Gone(uint32_t client, uint64_t now_ns);

  // May answer at once.
  void Await(const Refused& refused, uint64_t now_ns, Answer answer);
  // It has ended itself: it waits no longer.
  void Forget(uint32_t client);
  void Tick(uint64_t now_ns);
  bool has_waiters() const { return !waiters_.empty(); }

 private:
  struct Waiter {
    Refused refused;
    uint64_t others_bytes;  // had when it began to wait
    Answer answer;
  };
  using Waiters = std::list<Waiter>;

  bool CanHelp(const Refused& refused, uint64_t now_ns) const;
  device::MemoryAccount::Others OthersOf(const Refused& refused) const;
  void SayLeaving();
  // Takes those of which `chosen` is true from the list, then answers them.
  void AnswerThose(const std::function<bool(const Waiter&)>& chosen, bool again);

  device::Backend& backend_;
  const std::function<void()> tick_soon_;
  bool ticks_ = false;  // soon: whoever comes meanwhile does not put it off
  std::map<uint32_t, std::vector<uint64_t>> leaving_;  // bytes by device, of clients
  uint64_t last_gone_ns_ = 0;
  Waiters waiters_;
};

}  // namespace tutti::server
