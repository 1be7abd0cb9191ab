#include "os/time_slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace tutti::os {
namespace {

// struct sched_attr of sched_setattr, which libc does not wrap.
struct Attributes {
  uint32_t size = sizeof(Attributes);
  uint32_t policy = SCHED_OTHER;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;
  uint64_t deadline = 0;
  uint64_t period = 0;
};
static_assert(sizeof(Attributes) == 48);

}  // namespace

void RequestTimeSlice(uint64_t ns) {
  Attributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 || attributes.policy != SCHED_OTHER) return;
  attributes.size = sizeof attributes;
  attributes.runtime = ns;
  (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void BeNicer(uint32_t nice) {
  Attributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 || attributes.policy != SCHED_OTHER) return;
  constexpr int32_t kMost = 19;
  attributes.size = sizeof attributes;
  attributes.nice = std::min(kMost, attributes.nice + static_cast<int32_t>(nice));
  (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace tutti::os
