// What the driver has been given is withdrawn, where the server asks for that and nothing of it has begun
// (executor/launches.h): between two records, on the thread that gives them.
#include <vector>

#include "executor/submitter.h"

namespace tutti::executor {

Result<bool> Submitter::LookForWithdrawal() {
  Withdrawal asked = exchange_->withdrawal.load(std::memory_order_acquire);
  if (!IsQuestion(asked)) return false;
  if (!exchange_->withdrawal.compare_exchange_strong(asked, Withdrawal::kTaken, std::memory_order_acq_rel))
    return false;
  TUTTI_TRY(Harvest());  // what is done has begun
  TUTTI_ASSIGN(const Withdrawal answer, Withdraw(asked));
  if (answer == Withdrawal::kDone) withdrawn_.store(true, std::memory_order_release);
  exchange_->withdrawal.store(answer, std::memory_order_release);
  return true;
}

Result<Withdrawal> Submitter::Withdraw(Withdrawal asked) {
  std::vector<uint64_t> numbers;
  for (const uint32_t number : busy_) {
    for (const Given& given : streams_[number].given) {
      if (given.launch == 0) return Withdrawal::kHasBegun;
      numbers.push_back(given.launch);
    }
  }
  if (asked == Withdrawal::kLook) {
    TUTTI_ASSIGN(const bool begun, launches_.HaveBegun(numbers));
    return begun ? Withdrawal::kHasBegun : Withdrawal::kHasNotBegun;
  }
  TUTTI_ASSIGN(const bool withdrawn, launches_.Withdraw(numbers));
  return withdrawn ? Withdrawal::kDone : Withdrawal::kHasBegun;
}

}  // namespace tutti::executor
