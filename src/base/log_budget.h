// Rate limits on log lines that untrusted parties cause: a token bucket per party, with a burst and a refill per
// second. Lines above the limit are dropped. The log says where dropping starts, and gives the number of dropped lines
// before the first line, of any party, that fits again.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"

namespace tutti {

// Thread-safe.
class LogBudget {
 public:
  static constexpr uint64_t kBurstBytes = 1 << 20;
  static constexpr uint64_t kBytesPerSecond = 16 << 10;

  // For tests: the sink of the lines, and the clock.
  using Write = std::function<void(log::Level level, std::string_view line)>;
  using Clock = std::function<uint64_t()>;  // nanoseconds
  explicit LogBudget(Write write = {}, Clock clock = {});
  ~LogBudget();  // says what is still to be said
  LogBudget(const LogBudget&) = delete;

  // Logs the line against the budget of `party`, a word like "user 1000".
  template <typename... Args>
  void Info(const std::string& party, fmt::format_string<Args...> format, Args&&... args) {
    Line(log::Level::kInfo, party, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void Warning(const std::string& party, fmt::format_string<Args...> format, Args&&... args) {
    Line(log::Level::kWarning, party, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  struct Account {
    uint64_t bytes = kBurstBytes;
    uint64_t filled_ns = 0;
    uint64_t left_out = 0;
  };
  using Accounts = std::map<std::string, Account>;

  void Line(log::Level level, const std::string& party, std::string_view line);
  // With the lock held:
  Accounts::iterator AccountOf(const std::string& party, uint64_t now_ns);
  void Charge(Account& account, log::Level level, std::string_view line);
  void SayLeftOut(const std::string& party, Account& account);
  void SayLeftOutBy(uint64_t now_ns);

  const Write write_;
  const Clock clock_;
  std::mutex mutex_;
  Accounts accounts_;
  uint64_t looked_ns_ = 0;  // when it was last looked for parties that have room again
};

}  // namespace tutti
