// The time for which the system lets others run on a thread's core although the thread has work: wall time that is
// neither the thread's own processor time nor its sleep. Belongs to that thread.
#pragma once

#include <time.h>

#include <cstdint>

namespace tutti::device::cpu {

class StolenTime {
 public:
  // The next Take says 0, and begins anew.
  void Forget() { looked_at_ns_ = 0; }
  // The thread has slept for so long.
  void Slept(uint64_t ns) { slept_ns_ += ns; }
  // Since the last call. A system call; `now_ns`: of NowNs().
  uint64_t Take(uint64_t now_ns) {
    timespec processor{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &processor);
    const uint64_t ran_ns = static_cast<uint64_t>(processor.tv_sec) * 1'000'000'000 + processor.tv_nsec;
    const uint64_t wall_ns = looked_at_ns_ == 0 ? 0 : now_ns - looked_at_ns_, own_ns = ran_ns - ran_ns_ + slept_ns_;
    looked_at_ns_ = now_ns;
    ran_ns_ = ran_ns;
    slept_ns_ = 0;
    return wall_ns > own_ns ? wall_ns - own_ns : 0;
  }

 private:
  uint64_t looked_at_ns_ = 0;
  uint64_t ran_ns_ = 0;
  uint64_t slept_ns_ = 0;
};

}  // namespace tutti::device::cpu
