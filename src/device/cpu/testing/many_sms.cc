#include "device/cpu/testing/many_sms.h"

#include <algorithm>

#include "base/check.h"
#include "device/cpu/schedule/sm_thread.h"
#include "guest/exec/block_run.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kBeginNs = 1'000'000'000;

}  // namespace

ManySms::ManySms(uint32_t sms, const std::vector<MadeUpClient>& clients, const ManySmsCosts& costs, Policy policy)
    : costs_(costs),
      scheduler_(
          {.sms = sms}, this, &pool_, [] { return clock_ns_; }, this),
      sms_(sms),
      clients_(clients.size()) {
  now_ns_ = clock_ns_ = lock_free_at_ns_ = kBeginNs;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t begin_ns = NowNs();
    const uint64_t cost_ns = NowNs() - begin_ns;
    timer_cost_ns_ = i == 0 ? cost_ns : std::min(timer_cost_ns_, cost_ns);
  }
  for (uint32_t i = 0; i < sms; ++i) scheduler_.sm(i).thread = &sms_[i].thread;
  scheduler_.SetPolicy(policy);
  for (uint32_t i = 0; i < clients.size(); ++i) {
    Client& client = clients_[i];
    client.made_up = clients[i];
    scheduler_.AddShare(&client.share);
    scheduler_.SetLimits(&client.share, clients[i].limits);
    client.task.share = &client.share;
    client.task.urgency = 5;
    client.task.total_blocks = clients[i].blocks;
    client.task.any_order = clients[i].any_order;
    client.task.habits = &client.habits;
    At(kBeginNs + i, What::kLaunch, i);
  }
  for (uint32_t i = 0; i < sms; ++i) At(kBeginNs + i, What::kLook, i);
}

ManySms::~ManySms() {
  for (const auto& [run, left_ns] : left_ns_) delete run;
}

void ManySms::Locked() {
  ++locked_;
  locked_at_ns_ = NowNs();
}

void ManySms::Unlocks() {
  const uint64_t passed_ns = NowNs() - locked_at_ns_;
  held_ns_ += passed_ns - std::min(passed_ns, timer_cost_ns_);
}

void ManySms::At(uint64_t at_ns, What what, uint32_t index, uint32_t version) {
  events_.push({at_ns, order_++, what, index, version});
}

// A call into the scheduler, which begins when it has the lock. Returns when it is over.
template <typename Body>
uint64_t ManySms::Call(What what, const Body& body) {
  const uint64_t begin_ns = std::max(now_ns_, lock_free_at_ns_);
  clock_ns_ = begin_ns;
  held_ns_ = 0;
  locked_ = 0;
  body();
  uint64_t hold_ns = costs_.hold_ns;
  if (hold_ns == 0) {
    // This thread may have lost its core meanwhile.
    double& mean_ns = holds_[static_cast<size_t>(what)].mean_ns;
    const double held_ns = std::min(static_cast<double>(held_ns_), 8 * mean_ns + 1000);
    mean_ns += (held_ns - mean_ns) / 64;
    hold_ns = static_cast<uint64_t>(held_ns);
  }
  hold_ns += locked_ * costs_.handoff_ns;
  lock_free_at_ns_ = begin_ns + hold_ns;
  if (counts_) {
    result_.calls += locked_;
    result_.held_ns += hold_ns;
    result_.waited_ns += begin_ns - now_ns_;
  }
  SeeWhoIsWokenOrTold();
  return lock_free_at_ns_;
}

void ManySms::SeeWhoIsWokenOrTold() {
  for (; woken_ < scheduler_.gate().owed() && !asleep_.empty(); ++woken_) {
    Sm& sm = sms_[asleep_.front()];
    sm.woken = true;
    At(now_ns_ + costs_.wake_ns, What::kWake, asleep_.front(), ++sm.version);
    asleep_.pop_front();
  }
  for (uint32_t i = 0; i < sms_.size(); ++i) {
    Sm& sm = sms_[i];
    if (sm.client == nullptr || sm.told || sm.thread.WasToldTo(guest::StopReason::kNone)) continue;
    sm.told = true;
    const uint64_t ends_ns = now_ns_ + costs_.signal_ns;
    if (ends_ns >= sm.ends_ns) continue;
    sm.ends_ns = ends_ns;
    At(ends_ns, What::kEnd, i, ++sm.version);
  }
}

void ManySms::Arm(uint64_t at_ns) {
  if (at_ns >= kNever - kMostLateNs || at_ns + kMostLateNs >= look_at_ns_) return;
  look_at_ns_ = at_ns;
  At(std::max({now_ns_, look_at_ns_, looked_ns_ + kLeastPauseNs}), What::kTick, 0);
}

// The SM takes something, or sleeps.
void ManySms::Look(uint32_t index) {
  Sm& sm = sms_[index];
  uint32_t seen = 0;
  uint64_t retry_at_ns = kNever;
  bool taken = false;
  const uint64_t at_ns =
      Call(What::kLook, [&] { taken = scheduler_.Take(scheduler_.sm(index), &sm.chunk, &seen, &retry_at_ns); });
  if (!taken) {
    if (!scheduler_.gate().LieDown(seen, !scheduler_.restricted())) return At(at_ns, What::kLook, index);
    sm.asleep = true;
    sm.woken = false;
    asleep_.push_back(index);
    if (retry_at_ns != kNever) At(std::max(at_ns, retry_at_ns), What::kWake, index, sm.version);
    return;
  }
  Client& client = *reinterpret_cast<Client*>(sm.chunk.task->share->space);
  if (counts_) ++result_.decisions;
  if (client.launched_ns != 0) {
    if (counts_) client.longest_wait_ns = std::max(client.longest_wait_ns, at_ns - client.launched_ns);
    client.launched_ns = 0;
  }
  sm.client = &client;
  sm.told = false;
  sm.finished = 0;
  sm.counted_ns = at_ns;
  sm.piece = {sm.chunk.first, sm.chunk.piece_end};
  Begin(index, at_ns);
}

// A piece, or a block that resumes.
void ManySms::Begin(uint32_t index, uint64_t at_ns) {
  Sm& sm = sms_[index];
  sm.begun_ns = at_ns;
  sm.ends_ns = at_ns + Left(sm);
  At(sm.ends_ns, What::kEnd, index, ++sm.version);
}

// Of the piece, from its begin on.
uint64_t ManySms::Left(const Sm& sm) const {
  if (sm.chunk.resumed == nullptr) return (sm.piece.second - sm.piece.first) * sm.client->made_up.block_ns;
  return left_ns_.at(sm.chunk.resumed);
}

void ManySms::Count(Sm& sm, uint64_t at_ns) {
  if (at_ns <= sm.counted_ns) return;
  if (counts_) {
    result_.busy_ns += at_ns - sm.counted_ns;
    result_.client_ns[IndexOf(sm.client)] += at_ns - sm.counted_ns;
  }
  sm.counted_ns = at_ns;
}

uint32_t ManySms::IndexOf(const Client* client) const { return static_cast<uint32_t>(client - clients_.data()); }

void ManySms::End(uint32_t index) {
  Sm& sm = sms_[index];
  Client& client = *sm.client;
  Batch& batch = scheduler_.sm(index).batch;
  Count(sm, now_ns_);
  if (sm.chunk.resumed == nullptr && now_ns_ == sm.begun_ns + Left(sm) &&
      sm.thread.WasToldTo(guest::StopReason::kNone)) {
    sm.finished += sm.piece.second - sm.piece.first;
    sm.piece = batch.TakePiece();
    if (sm.piece.first < sm.piece.second) return Begin(index, now_ns_);
  }
  const ChunkResult result = Leave(sm, batch);
  if (sm.chunk.resumed == nullptr && result.finished != 0)
    client.habits.LearnTime(result.finished * client.made_up.block_ns, result.finished);
  sm.client = nullptr;
  bool done = false;
  const uint64_t at_ns = Call(What::kEnd, [&] { done = scheduler_.Finish(scheduler_.sm(index), sm.chunk, result); });
  if (!done) return At(at_ns, What::kLook, index);
  if (client.made_up.pause_ns != 0) {
    At(at_ns + client.made_up.pause_ns, What::kLaunch, IndexOf(&client));
    At(at_ns, What::kRelease, index);
    return;
  }
  const SmThread thread(&scheduler_, index);
  Launch(IndexOf(&client));
  At(lock_free_at_ns_, What::kRelease, index);
}

// What the SM has done of its chunk by now, and what it leaves.
ChunkResult ManySms::Leave(Sm& sm, Batch& batch) {
  ChunkResult result{.finished = sm.finished, .end_ns = now_ns_};
  const uint64_t ran_ns = now_ns_ - sm.begun_ns;
  uint64_t left_ns = 0;  // of the block in which it is
  if (sm.chunk.resumed != nullptr) {
    left_ns = Left(sm) - ran_ns;
    if (left_ns == 0) {
      result.finished = 1;
      left_ns_.erase(sm.chunk.resumed);
      sm.chunk.resumed->GiveUp();
      pool_.Put(sm.chunk.resumed);
    } else {
      result.suspended = sm.chunk.resumed;
    }
  } else {
    const uint64_t block_ns = sm.client->made_up.block_ns, count = sm.piece.second - sm.piece.first;
    const uint64_t finished = std::min(count, ran_ns / block_ns);
    const uint64_t begun = std::min(count, (ran_ns + block_ns - 1) / block_ns);
    result.finished += finished;
    if (begun > finished) {
      result.suspended = pool_.Get();
      TUTTI_CHECK(result.suspended->PrepareCall([](const void*, uint64_t) {}, nullptr, sm.piece.first + begun - 1));
      left_ns = begun * block_ns - ran_ns;
    }
    result.rest_begin = sm.piece.first + begun;
    result.rest_end = batch.TakeRest().second;
  }
  if (result.suspended != nullptr) left_ns_[result.suspended] = left_ns;
  return result;
}

void ManySms::Launch(uint32_t index) {
  Client& client = clients_[index];
  client.share.space = reinterpret_cast<CpuSpace*>(&client);  // the scheduler only keeps it
  client.launched_ns = now_ns_;
  RescheduleRequest request;
  Call(What::kLaunch, [&] { request = scheduler_.Submit(&client.task); });
  scheduler_.Perform(request);
  SeeWhoIsWokenOrTold();
}

void ManySms::Handle(const Event& event) {
  switch (event.what) {
    case What::kLook: return Look(event.index);
    case What::kEnd:
      if (sms_[event.index].version == event.version) End(event.index);
      return;
    case What::kWake: {
      Sm& sm = sms_[event.index];
      if (sm.version != event.version || !sm.asleep) return;
      if (sm.woken) {
        --woken_;
      } else {
        std::erase(asleep_, event.index);
      }
      scheduler_.gate().GetUp(sm.woken);
      sm.asleep = false;
      ++sm.version;
      return Look(event.index);
    }
    case What::kRelease:
      At(Call(What::kRelease, [&] { scheduler_.Release(scheduler_.sm(event.index)); }), What::kLook, event.index);
      return;
    case What::kLaunch: return Launch(event.index);
    case What::kTick: {
      if (now_ns_ < look_at_ns_) return;
      look_at_ns_ = kNever;
      looked_ns_ = now_ns_;
      uint64_t next_ns = kNever;
      Call(What::kTick, [&] { next_ns = scheduler_.Tick(clock_ns_); });
      if (next_ns < look_at_ns_) {
        look_at_ns_ = next_ns;
        At(std::max(next_ns, looked_ns_ + kLeastPauseNs), What::kTick, 0);
      }
      return;
    }
  }
}

void ManySms::RunUntil(uint64_t at_ns) {
  while (!events_.empty() && events_.top().at_ns < at_ns) {
    const Event event = events_.top();
    events_.pop();
    now_ns_ = std::max(now_ns_, event.at_ns);
    Handle(event);
  }
  now_ns_ = std::max(now_ns_, at_ns);
  for (Sm& sm : sms_) {
    if (sm.client != nullptr) Count(sm, now_ns_);
  }
}

ManySmsResult ManySms::Run(uint64_t settle_ns, uint64_t ns) {
  RunUntil(now_ns_ + settle_ns);
  result_ = {.ns = ns, .client_ns = std::vector<uint64_t>(clients_.size())};
  counts_ = true;
  RunUntil(now_ns_ + ns);
  counts_ = false;
  return std::move(result_);
}

}  // namespace tutti::device::cpu
