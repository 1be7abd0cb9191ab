#include "base/log_budget.h"

#include <algorithm>

#include "base/clock.h"

namespace tutti {
namespace {

constexpr uint64_t kHeadBytes = 48;  // time, role and process id, which each line begins with
// A user can create as many containers as the machine has process ids: parties beyond this number share one budget.
constexpr size_t kMaxParties = 64;
constexpr const char* kOthers = "others";
constexpr uint64_t kSecondNs = 1'000'000'000;
// with this much room again a party counts as within its limit
constexpr uint64_t kRoomBytes = LogBudget::kBytesPerSecond / 2;

}  // namespace

LogBudget::LogBudget(Write write, Clock clock) : write_(std::move(write)), clock_(clock ? std::move(clock) : NowNs) {}

LogBudget::~LogBudget() {
  for (auto& [party, account] : accounts_) SayLeftOut(party, account);
}

void LogBudget::Line(log::Level level, const std::string& party, std::string_view line) {
  if (!write_ && !log::Enabled(level)) return;
  const std::lock_guard lock(mutex_);
  const uint64_t now_ns = clock_();
  SayLeftOutBy(now_ns);
  auto& [payer, account] = *AccountOf(party, now_ns);
  if (account.bytes < line.size() + kHeadBytes) {
    if (account.left_out++ == 0)
      Charge(account, level, fmt::format("Lines about {} come too fast: from here on some are left out", payer));
    return;
  }
  if (account.bytes >= kRoomBytes) SayLeftOut(payer, account);
  Charge(account, level, line);
}

LogBudget::Accounts::iterator LogBudget::AccountOf(const std::string& party, uint64_t now_ns) {
  const auto has_no_place = [&] { return accounts_.size() >= kMaxParties && !accounts_.contains(party); };
  if (has_no_place()) {
    std::erase_if(accounts_, [&](const auto& entry) {
      return entry.second.left_out == 0 && now_ns - entry.second.filled_ns > kBurstBytes / kBytesPerSecond * kSecondNs;
    });
  }
  const auto found = accounts_.try_emplace(has_no_place() ? kOthers : party, Account{.filled_ns = now_ns}).first;
  // Whole seconds, so that rounding loses nothing.
  Account& account = found->second;
  const uint64_t seconds = (now_ns - account.filled_ns) / kSecondNs;
  account.bytes = std::min(kBurstBytes, account.bytes + std::min(seconds, kBurstBytes) * kBytesPerSecond);
  account.filled_ns += seconds * kSecondNs;
  return found;
}

void LogBudget::Charge(Account& account, log::Level level, std::string_view line) {
  account.bytes -= std::min<uint64_t>(account.bytes, line.size() + kHeadBytes);
  write_ ? write_(level, line) : log::Write(level, line);
}

void LogBudget::SayLeftOut(const std::string& party, Account& account) {
  if (account.left_out == 0) return;
  Charge(account, log::Level::kWarning,
         fmt::format("{} lines about {} are left out: they came too fast", std::exchange(account.left_out, 0), party));
}

// Reports the dropped lines of parties that may never log again.
void LogBudget::SayLeftOutBy(uint64_t now_ns) {
  if (now_ns - looked_ns_ < kSecondNs) return;
  looked_ns_ = now_ns;
  for (auto& [party, account] : accounts_) {
    if (account.left_out > 0 && now_ns - account.filled_ns >= kSecondNs)
      SayLeftOut(party, AccountOf(party, now_ns)->second);
  }
}

}  // namespace tutti
