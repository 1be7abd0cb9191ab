// What the kernel's modules of the GPU say meanwhile (`NVRM: Xid ...`), where this user may read the kernel's log. It
// is often all that is said of why a driver or a GPU did not go on.
#pragma once

#include <string>
#include <vector>

#include "os/fd.h"

namespace tutti::gpu {

class KernelLog {
 public:
  // From its end on.
  explicit KernelLog(const std::string& path = "/dev/kmsg");

  // Why it cannot be read; empty: it can.
  const std::string& problem() const { return problem_; }
  // The lines of the GPU's modules since the last time, without the kernel's own head.
  std::vector<std::string> News();

 private:
  os::Fd file_;
  std::string problem_, rest_;
};

}  // namespace tutti::gpu
