#include "device/cpu/schedule/ticker.h"

#include "os/thread.h"
#include "os/time_slice.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kSliceNs = 100'000;

}  // namespace

std::thread TickerSystem::StartThread(std::function<void()> body) {
  return os::StartThread("tutti-tick", [body = std::move(body)] {
    os::RequestTimeSlice(kSliceNs);
    body();
  });
}

template class BasicTicker<TickerSystem>;

}  // namespace tutti::device::cpu
