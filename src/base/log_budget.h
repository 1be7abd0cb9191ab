// Lines of the log that come from strangers: each party may fill so much of it, a burst at once and a little per second from
// then on. What is above that is left out, and how many lines that were is said. Daemon thread only.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace tutti::daemon {

class LogBudget {
 public:
  static constexpr uint64_t kBurstBytes = 1 << 20;
  static constexpr uint64_t kBytesPerSecond = 16 << 10;

  // For tests: where lines go, and what time it is.
  using Write = std::function<void(std::string_view line)>;
  using Clock = std::function<uint64_t()>;  // nanoseconds
  explicit LogBudget(Write write = {}, Clock clock = {});

  // Logs the line at the cost of `party`, a word like "user 1000".
  template <typename... Args>
  void Info(const std::string& party, fmt::format_string<Args...> format, Args&&... args) {
    Line(party, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  struct Account {
    uint64_t bytes = kBurstBytes;
    uint64_t filled_ns = 0;
    uint64_t left_out = 0;
  };
  void Line(const std::string& party, std::string_view line);

  Write write_;
  Clock clock_;
  std::map<std::string, Account> accounts_;
};

}  // namespace tutti::daemon
