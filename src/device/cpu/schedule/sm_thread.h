// Which SM the calling thread is, and whether it looks for work soon: a submitter need not wake an SM if its own thread
// looks right after, and must not count on one whose thread does something else first.
#pragma once

#include <cstdint>

namespace tutti::device::cpu {

class Scheduler;
struct SmState;

// While it lives, the calling thread is `sm` of `scheduler`. One per thread.
class SmThread {
 public:
  SmThread(Scheduler* scheduler, uint32_t sm);
  ~SmThread();
  SmThread(const SmThread&) = delete;

  // Whether the calling thread is an SM of `scheduler` and looks for work before it waits for anything.
  static bool WillLook(const Scheduler* scheduler);
};

// While it lives, the calling thread, if it is an SM, does something else, which may take long, like giving back
// gigabytes: what there is to run is for others. They nest.
class SmAbsence {
 public:
  SmAbsence();
  ~SmAbsence();
  SmAbsence(const SmAbsence&) = delete;

 private:
  Scheduler* const scheduler_;  // that the thread looked at until now
  bool idle_ = false;  // the SM ran nothing: the scheduler has been told
};

}  // namespace tutti::device::cpu
