// Beside other servers: the parts of the device that this server's shares have.
//
// Each server says what its clients want, in groups of clients of one priority that may use the same SMs (PeerGroup):
// their weights, and how many SMs they could use at once, on average over the last milliseconds. From what all say each
// server computes the part of each of its groups (fair_part.h), and keeps to it like a client to its percentage: by a
// cap on SMs and their time. So nobody waits for anybody, and what one group does not want the others use. A server
// that says no more, since it is idle or has ended, is forgotten soon.
//
// Clients that precede others need the SMs when they have something to run, not on average. So for each group a server
// says also what it wants at this moment, whenever that comes or goes, and groups of clients below normal look at it
// before each chunk, and every kUrgentLookNs while one runs.
#include <algorithm>
#include <array>
#include <cmath>

#include "device/common/fair_part.h"
#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kPeriodNs = 5'000'000;
// How long what is said holds: for longer while SMs run something, whose ticker may come late; shortly when none does.
constexpr uint64_t kBusyForNs = 200'000'000;
constexpr uint64_t kIdleForNs = 4 * kPeriodNs;
constexpr size_t kMostHeard = 256;

}  // namespace

void Scheduler::SetPeers(TimePeers* peers) {
  {
    std::lock_guard lock(mutex_);
    for (SpaceShare* const share : shares_) {
      TakeBackOffer(share);
      LeaveGroup(share);
    }
    for (SmState& sm : sm_states_) sm.group = nullptr;
    groups_.clear();
    said_.clear();
    peers_ = sms() <= cores_ ? peers : nullptr;
    shares_cores_.store(peers_ != nullptr, std::memory_order_relaxed);
    adjusted_at_ns_ = demand_at_ns_ = clock_();
    for (SpaceShare* const share : shares_) {
      JoinGroup(share);
      UpdateOffer(share);
    }
    for (SmState& sm : sm_states_) {
      if (sm.task != nullptr) JoinGroup(sm, adjusted_at_ns_);
    }
  }
  ticker_->Arm(clock_());  // what runs by now is said, and gives way
  gate_.Advance();
  gate_.WakeAll();
}

// One that begins has all of its region, until the parts are adjusted. Beyond kMostDemands groups one of the same
// priority, if there is any, serves: others are told of a wrong region then.
PeerGroup* Scheduler::GroupFor(const SpaceShare& share) {
  SmSet region = share.sms;
  for (uint32_t sm = sms(); sm < kMaxSms; ++sm) region.reset(sm);
  const auto of_band = [&](const auto& group) { return group->band == share.band; };
  auto found =
      std::ranges::find_if(groups_, [&](const auto& group) { return of_band(group) && group->region == region; });
  if (found == groups_.end() && groups_.size() == kMostDemands) {
    found = std::ranges::find_if(groups_, of_band);
    if (found == groups_.end()) found = groups_.begin();
  }
  if (found != groups_.end()) return found->get();
  PeerGroup& group = *groups_.emplace_back(std::make_unique<PeerGroup>());
  group.band = share.band;
  group.region = region;
  const auto all = static_cast<uint32_t>(std::max<size_t>(region.count(), 1));
  group.part.Set(all, all, clock_());
  return &group;
}

// Also when its limits have changed. It is not offered.
void Scheduler::JoinGroup(SpaceShare* share) {
  LeaveGroup(share);
  if (peers_ == nullptr) return;
  share->group = GroupFor(*share);
  ++share->group->shares;
  CountUsable(share);
}

void Scheduler::LeaveGroup(SpaceShare* share) {
  if (share->group == nullptr) return;
  share->group->usable_sms -= share->usable_sms;
  share->usable_sms = 0;
  --share->group->shares;
  share->group = nullptr;
}

void Scheduler::JoinGroup(SmState& sm, uint64_t now_ns) {
  sm.group = sm.share->group;
  sm.group_since_ns = now_ns;
  sm.group_counted_ns = 0;
  if (sm.group != nullptr) sm.group->part.Begin();
}

void Scheduler::LeaveGroup(SmState& sm) {
  if (sm.group != nullptr) sm.group->part.End();
  sm.group = nullptr;
}

// The SM has run a chunk for so long. What AdjustParts has counted beyond that, since the SM had no core, goes back.
void Scheduler::SpendOfGroup(const SmState& sm, uint64_t ran_ns, uint64_t now_ns) {
  const uint64_t uncounted_ns = now_ns - std::min(now_ns, sm.group_since_ns);
  const uint64_t used_ns = std::min(ran_ns, sm.group_counted_ns + uncounted_ns);
  if (used_ns >= sm.group_counted_ns) {
    sm.group->part.Spend(used_ns - sm.group_counted_ns, now_ns);
  } else {
    sm.group->part.GiveBack(sm.group_counted_ns - used_ns, now_ns);
  }
}

// By what is running or waits, as far as its limits let it.
void Scheduler::CountUsable(SpaceShare* share) {
  if (share->group == nullptr) return;
  double usable = 0;
  if (share->unfinished != 0) {
    usable = std::min(static_cast<double>(share->group->region.count()), share->weight / 100 * sms());
  }
  share->group->usable_sms += usable - share->usable_sms;
  share->usable_sms = usable;
}

// A group of which nothing waits wants what it has.
double Scheduler::DemandOf(const PeerGroup& group) const {
  if (group.offered == 0) return group.part.running();
  return std::clamp(group.usable_sms, 0.0, static_cast<double>(group.region.count()));
}

// Before an SM takes something: groups whose time has come. Returns when one that is shut may open, or kNever.
uint64_t Scheduler::OpenGroups(uint64_t now_ns) {
  NoteDemand(now_ns);
  HearUrgent(now_ns);
  uint64_t next_ns = offered_ != 0 ? now_ns + kBusyForNs / 4 : kNever;  // what was said is said again
  for (const auto& group : groups_) {
    if (group->part.throttled() && now_ns >= group->part.throttled_until_ns()) group->part.Resume(now_ns);
    if (group->offered == 0) continue;
    if (group->part.throttled()) next_ns = std::min(next_ns, group->part.throttled_until_ns());
    if (group->part.running() >= group->sms_beside_urgent) next_ns = std::min(next_ns, now_ns + kUrgentLookNs);
  }
  return next_ns;
}

// Fractions of SMs, of clients whose percentage gives them no more, are for the group's part.
void Scheduler::HearUrgent(uint64_t now_ns) {
  for (const auto& group : groups_) {
    if (group->band == 0 || (group->offered == 0 && group->part.running() == 0)) continue;
    const double left =
        static_cast<double>(group->region.count()) - peers_->HearUrgent(group->band, group->region, now_ns);
    group->sms_beside_urgent = left > 0 ? static_cast<uint32_t>(std::ceil(left)) : 0;
  }
}

// Idle SMs that have found a group shut look again once it has room, for whatever reason: those that spin know only the
// epoch. Asked when all is done that opens or shuts groups, so that an SM that takes the room that it has left itself
// tells nobody; and not while more SMs are on their way than shares are offered. True if there is room for idle SMs.
bool Scheduler::TellOfRoom() {
  bool has_room = false;
  for (const auto& group : groups_) {
    const bool opens = group->open() && !group->was_open && group->offered != 0;
    if (opens && coming_ >= offered_) continue;
    group->was_open = group->open();
    has_room |= opens;
  }
  if (has_room) gate_.Advance();
  return has_room;
}

// After what changes it, and from time to time.
void Scheduler::NoteDemand(uint64_t now_ns) {
  if (peers_ == nullptr) return;
  const double passed_ns = now_ns > demand_at_ns_ ? static_cast<double>(now_ns - demand_at_ns_) : 0;
  demand_at_ns_ = std::max(demand_at_ns_, now_ns);
  for (const auto& group : groups_) {
    group->demand_ns += group->demand_sms * passed_ns;
    group->demand_sms = DemandOf(*group);
  }
  if (now_ns >= adjusted_at_ns_ + kPeriodNs) return AdjustParts(now_ns);
  if (says_busy_ && busy_ == 0 && offered_ == 0) {
    says_busy_ = false;
    peers_->SayUntil(now_ns + kIdleForNs);
  }
  for (size_t place = 0; place < said_.size(); ++place) {
    PeerGroup* const group = said_[place];
    if (group->band + 1 == kBands || (group->said_sms == 0) == (group->demand_sms == 0)) continue;
    group->said_sms = group->demand_sms;
    peers_->SayNow(place, group->said_sms);
  }
}

void Scheduler::AdjustParts(uint64_t now_ns) {
  const auto passed_ns = static_cast<double>(now_ns - adjusted_at_ns_);
  adjusted_at_ns_ = now_ns;
  // What blocks have run by now counts by the parts that held.
  for (SmState& sm : sm_states_) {
    if (sm.group == nullptr || now_ns <= sm.group_since_ns) continue;
    sm.group->part.Spend(now_ns - sm.group_since_ns, now_ns);
    if (sm.group->part.limits_time()) sm.group_counted_ns += now_ns - sm.group_since_ns;
    sm.group_since_ns = now_ns;
  }
  // Those that have become empty go, but for what SMs still run.
  std::erase_if(groups_, [](const auto& group) { return group->shares == 0 && group->part.running() == 0; });
  std::array<TimeDemand, kMostDemands + kMostHeard> room;
  said_.clear();
  for (const auto& group : groups_) {
    TimeDemand& own = room[said_.size()];
    own = {.sms = group->demand_ns / passed_ns,
           .sms_now = group->demand_sms,
           .band = group->band,
           .region = group->region};
    group->demand_ns = 0;
    group->said_sms = group->demand_sms;
    said_.push_back(group.get());
  }
  for (SpaceShare* const share : shares_) {
    if (share->unfinished == 0 && !share->worked) continue;
    share->worked = false;
    const auto of_group = std::ranges::find(said_, share->group);
    if (of_group != said_.end()) room[of_group - said_.begin()].weight += share->weight;
  }
  const auto own = std::span(room).first(said_.size());
  says_busy_ = busy_ != 0 || offered_ != 0;
  peers_->Say(own, now_ns + (says_busy_ ? kBusyForNs : kIdleForNs));
  const size_t heard = peers_->Hear(std::span(room).subspan(own.size()), now_ns);
  const auto all = std::span(room).first(own.size() + heard);
  for (size_t place = 0; place < own.size(); ++place) {
    // The last of the server's own, which its scheduler would see to if it were alone, is like any other's.
    std::swap(room[place], room[0]);
    said_[place]->part.Change(FairPart(room[0], all.subspan(1)),
                              static_cast<uint32_t>(std::max<size_t>(room[0].region.count(), 1)), now_ns);
    std::swap(room[place], room[0]);
  }
}

}  // namespace tutti::device::cpu
