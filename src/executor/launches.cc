#include "executor/launches.h"

#include <algorithm>
#include <memory>

namespace tutti::executor {

uint64_t Launches::Begin() {
  if (fence_ == nullptr || !fence_->is_open() || taken_.all()) return 0;
  do {
    ++last_;
  } while (taken_.test(last_ % guest::kLaunchGates));
  taken_.set(last_ % guest::kLaunchGates);
  return last_;
}

void Launches::End(uint64_t number) {
  if (number != 0) taken_.reset(number % guest::kLaunchGates);
}

Result<bool> Launches::HaveBegun(std::span<const uint64_t> numbers) const {
  if (numbers.empty()) return false;
  struct Gates {
    uint64_t begun[guest::kLaunchGates];
  };
  const auto gates = std::make_unique<Gates>();
  TUTTI_TRY(fence_->ReadBegun(gates->begun));
  return std::ranges::any_of(numbers,
                             [&](uint64_t number) { return gates->begun[number % guest::kLaunchGates] / 2 == number; });
}

Result<bool> Launches::Withdraw(std::span<const uint64_t> numbers) const {
  if (fence_ == nullptr || !fence_->is_open()) return numbers.empty();
  TUTTI_TRY(fence_->SetVerdict(guest::LaunchVerdict::kWait));
  TUTTI_ASSIGN(const bool begun, HaveBegun(numbers));
  TUTTI_TRY(fence_->SetVerdict(begun ? guest::LaunchVerdict::kGoOn : guest::LaunchVerdict::kEnd));
  return !begun;
}

}  // namespace tutti::executor
