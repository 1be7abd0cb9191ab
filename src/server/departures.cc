#include "server/departures.h"

#include <iterator>
#include <utility>

namespace tutti::server {

void Departures::Begin(uint32_t client, std::vector<uint64_t> bytes) {
  leaving_.emplace(client, std::move(bytes));
  SayLeaving();
}

void Departures::Gone(uint32_t client, uint64_t now_ns) {
  leaving_.erase(client);
  last_gone_ns_ = now_ns;
  SayLeaving();
  AnswerThose([](const Waiter&) { return true; }, true);
}

void Departures::SayLeaving() {
  for (uint32_t device = 0; device < backend_.devices().size(); ++device) {
    uint64_t sum = 0;
    for (const auto& [client, bytes] : leaving_) sum += bytes[device];
    backend_.memory(device).SetLeaving(sum);
  }
}

void Departures::Await(const Refused& refused, uint64_t now_ns, Answer answer) {
  // However many come and go: else they would have it try for ever.
  if (now_ns - refused.first_ns >= kLongestNs) return answer(false);
  // What has become free since it was refused does not announce itself again.
  if (last_gone_ns_ != 0 && last_gone_ns_ >= refused.tried_ns) return answer(true);
  if (!CanHelp(refused, now_ns)) return answer(false);
  waiters_.push_back({.refused = refused, .others_bytes = OthersOf(refused).bytes, .answer = std::move(answer)});
  if (!std::exchange(ticks_, true)) tick_soon_();
}

void Departures::Forget(uint32_t client) {
  AnswerThose([client](const Waiter& waiter) { return waiter.refused.client == client; }, false);
}

// Who has waited for long enough tries a last time, since what others say may have changed before it began to wait. If
// it comes again, it is answered at once.
void Departures::Tick(uint64_t now_ns) {
  ticks_ = false;
  AnswerThose(
      [&](const Waiter& waiter) {
        return !CanHelp(waiter.refused, now_ns) || OthersOf(waiter.refused).bytes < waiter.others_bytes;
      },
      true);
  if (has_waiters() && !std::exchange(ticks_, true)) tick_soon_();
}

bool Departures::CanHelp(const Refused& refused, uint64_t now_ns) const {
  const uint64_t waited_ns = now_ns - refused.first_ns;
  if (waited_ns >= kLongestNs) return false;
  if (!leaving_.empty()) return true;
  const auto others = OthersOf(refused);
  return others.leaving_bytes != 0 || (others.bytes != 0 && waited_ns < kGraceNs);
}

device::MemoryAccount::Others Departures::OthersOf(const Refused& refused) const {
  return refused.on_device ? backend_.memory(refused.device).others() : device::MemoryAccount::Others{};
}

void Departures::AnswerThose(const std::function<bool(const Waiter&)>& chosen, bool again) {
  Waiters answered;
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    const auto here = it++;
    if (chosen(*here)) answered.splice(answered.end(), waiters_, here);
  }
  for (Waiter& waiter : answered) waiter.answer(again);
}

}  // namespace tutti::server
