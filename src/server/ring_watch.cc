// How the server notices records with few wake-ups and without ever missing one.
//
// Three costs compete: a poll of a busy ring is a load, but takes a core; ringing the doorbell is a system call of the
// client, on its launch path; a sleeping thread costs nothing, but a wake-up takes microseconds. So rings are polled by
// threads that have nothing better to do, the backend's idle ones, and the doorbell's state tells each client whether a
// thread polls (kWatched: do not ring), polls again within milliseconds (kLingering: ring only before waiting), or none
// does (kArmed: ring).
//
// Stopping is the hard part: a record published between a thread's last poll and its sleep must not be left behind. The
// rule is Dekker's: each side writes its own word, then reads the other's, all seq_cst. The client publishes and then
// reads the doorbell; the server sets the doorbell to kArmed and then checks the ring again (Arm). At least one of them
// sees the other. The same pattern works between threads of the server: a looker that leaves decrements `lookers_` and
// then reads whether the lookout dozes; the lookout announces that it dozes and then reads `lookers_` and `sleepers_`.
//
// The lookout covers the case in which all of the backend's threads run blocks for long. It polls after an interval
// that doubles after each poll in vain, up to kMostLingerNs, and is halved after each that found records; at the upper
// end it arms all rings and sleeps on the doorbells. While the backend's threads poll or sleep on the doorbells it
// dozes: at first for kDozeNs at a time, and after kDozesBeforeDeep of those, if there are sleepers and no lookers, for
// up to kLongSleepNs or until the last sleeper wakes.
#include "server/ring_watch.h"

#include "os/thread.h"
#include "os/time_slice.h"
#include "server/ring_watch_steps.h"

namespace tutti::server {
namespace {

constexpr uint64_t kSliceNs = 100'000;  // short: clients wait for this thread

}  // namespace

std::thread WatchSystem::StartLookout(std::function<void()> lookout) {
  return os::StartThread("lookout", [lookout = std::move(lookout)] {
    os::RequestTimeSlice(kSliceNs);
    lookout();
  });
}

template class BasicRingWatch<WatchSystem>;

}  // namespace tutti::server
