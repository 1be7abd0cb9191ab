// Loading a module, and launching a kernel that has no code yet, waits for the compiler: a program's first ones may
// wait for many seconds. When the waits of the process add up to two seconds, one line in the log says what takes so
// long and that it is once (TUTTI_QUIET=1: no line). Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::client {

// The waits of a process. Its own object, so that a test has one.
class CompileWaits {
 public:
  // A wait that has ended, after `ns`; for how many kernels.
  void Ended(uint64_t ns, uint32_t kernels);
  // The line, once, if the waits that have ended and one for `what`, which has lasted `ns` so far, are long enough.
  std::optional<std::string> Line(std::string_view what, uint64_t ns);

 private:
  std::atomic<uint64_t> total_ns_{0};
  std::atomic<uint32_t> kernels_{0};
  std::atomic<bool> said_{false};
};

// One wait of this process, from construction to destruction. One in which GoesOn is never called found the code in the
// cache, and does not count.
class CompileWait {
 public:
  // `kernel`: its name, which outlives it; "" for a module.
  explicit CompileWait(std::string_view kernel);
  ~CompileWait();
  CompileWait(const CompileWait&) = delete;
  CompileWait& operator=(const CompileWait&) = delete;

  // To be called every now and then.
  void GoesOn();

 private:
  const std::string_view kernel_;
  const uint64_t since_ns_;
  bool went_on_ = false;
};

}  // namespace tutti::client
