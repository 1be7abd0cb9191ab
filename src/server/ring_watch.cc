#include "server/ring_watch.h"

#include "os/thread.h"
#include "os/time_slice.h"
#include "server/ring_watch_steps.h"

namespace tutti::server {
namespace {

constexpr uint64_t kSliceNs = 100'000;  // clients wait for it

}  // namespace

std::thread WatchSystem::StartLookout(std::function<void()> lookout) {
  return os::StartThread("lookout", [lookout = std::move(lookout)] {
    os::RequestTimeSlice(kSliceNs);
    lookout();
  });
}

template class BasicRingWatch<WatchSystem>;

}  // namespace tutti::server
