#include "daemon/log_budget.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kHeadBytes = 48;  // time, role and process id, which each line begins with
// A user can make as many containers as the machine has process ids: what comes above this number shares one account.
constexpr size_t kMaxParties = 64;
constexpr const char* kOthers = "others";
constexpr uint64_t kSecondNs = 1'000'000'000;

}  // namespace

LogBudget::LogBudget(Write write, Clock clock)
    : write_(write ? std::move(write) : [](std::string_view line) { log::Info("{}", line); }), clock_(clock ? std::move(clock) : NowNs) {}

void LogBudget::Line(const std::string& party, std::string_view line) {
  const uint64_t now = clock_();
  const auto has_no_place = [&] { return accounts_.size() >= kMaxParties && !accounts_.contains(party); };
  if (has_no_place()) {
    std::erase_if(accounts_, [&](const auto& entry) { return now - entry.second.filled_ns > kBurstBytes / kBytesPerSecond * kSecondNs; });
  }
  const std::string payer = has_no_place() ? kOthers : party;
  Account& account = accounts_.try_emplace(payer, Account{.filled_ns = now}).first->second;
  // In whole seconds, so that nothing is lost to rounding.
  const uint64_t seconds = (now - account.filled_ns) / kSecondNs;
  account.bytes = std::min(kBurstBytes, account.bytes + std::min(seconds, kBurstBytes) * kBytesPerSecond);
  account.filled_ns += seconds * kSecondNs;
  const uint64_t cost = line.size() + kHeadBytes;
  if (account.bytes < cost) {
    ++account.left_out;
    return;
  }
  account.bytes -= cost;
  if (account.left_out > 0) write_(fmt::format("{} lines about {} are left out: they came too fast", std::exchange(account.left_out, 0), party));
  write_(line);
}

}  // namespace tutti::daemon
