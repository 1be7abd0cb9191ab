#include "executor/context_limits.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tutti::executor {

using namespace cuda;

namespace {

// Neighbours that have asked for nothing count on as much as a fresh context has. Of what is no size of memory, like
// how many grids kernels may have launched, a client may want less, and see that it has less. A driver may keep memory
// for these as well, and nobody knows how much: the server raises them for no client with a memory limit.
bool IsOfMemory(CUlimit limit) {
  return limit == CU_LIMIT_STACK_SIZE || limit == CU_LIMIT_PRINTF_FIFO_SIZE || limit == CU_LIMIT_MALLOC_HEAP_SIZE;
}

}  // namespace

void ContextLimits::Open() {
  std::lock_guard lock(mutex_);
  for (int number = 0; number < CU_LIMIT_COUNT; ++number) {
    size_t bytes = 0;
    const auto limit = static_cast<CUlimit>(number);
    if (vendor_.cuCtxGetLimit(&bytes, limit) == CUDA_SUCCESS)
      limits_[limit] = {.is_known = true, .of_fresh = bytes, .set = bytes};
  }
}

uint64_t ContextLimits::Wanted(CUlimit limit) const {
  const auto known = limits_.find(limit);
  const Limit of = known == limits_.end() ? Limit{} : known->second;
  bool is_asked_for = false, is_of_all = true;
  uint64_t most = 0;
  for (const auto& [place, wishes] : wishes_) {
    const auto wish = wishes.find(limit);
    is_asked_for |= wish != wishes.end();
    is_of_all &= wish != wishes.end();
    if (wish != wishes.end()) most = std::max(most, wish->second.bytes);
  }
  if (!is_asked_for) return of.is_known ? of.of_fresh : of.set;
  return is_of_all && !IsOfMemory(limit) ? most : std::max(most, of.of_fresh);
}

// Where the limit is what somebody asks for, nobody holds more than that.
void ContextLimits::Settle(CUlimit limit) {
  if (limits_[limit].is_changing || limits_[limit].set > Wanted(limit)) return;
  for (auto& [place, wishes] : wishes_) {
    if (const auto wish = wishes.find(limit); wish != wishes.end()) wish->second.held = wish->second.bytes;
  }
}

uint64_t ContextLimits::Held(const void* place, CUlimit limit) const {
  const auto wishes = wishes_.find(place);
  if (wishes == wishes_.end()) return 0;
  const auto wish = wishes->second.find(limit);
  return wish == wishes->second.end() ? 0 : wish->second.held;
}

void ContextLimits::Add(const void* place) {
  std::lock_guard lock(mutex_);
  wishes_.try_emplace(place);
  for (auto& [limit, known] : limits_)
    if (known.set < Wanted(limit)) known.stays = false;
}

tutti::Result<uint64_t> ContextLimits::Set(const void* place, CUlimit limit, uint64_t bytes, bool may_raise,
                                           const std::function<bool()>& may_lower) {
  bool is_there = false, is_too_large = false;
  {
    std::lock_guard lock(mutex_);
    Limit& known = limits_[limit];
    is_there = bytes <= known.set;
    if (is_there) {
      Wish& wish = wishes_[place][limit];
      wish = {.bytes = bytes, .held = std::max(wish.held, bytes)};
      known.stays = false;
      Settle(limit);
      is_too_large = Wanted(limit) < known.set;
    }
  }
  if (!is_there && may_raise) {
    TUTTI_TRY(Raise(place, limit, bytes));
  } else if (is_too_large && may_lower()) {
    const Status lowered = LowerOne(limit);  // what is refused stays, and is enough
    if (!lowered && vendor_.has_said_the_end()) return std::unexpected(lowered.error());
  }
  std::lock_guard lock(mutex_);
  return Held(place, limit);
}

// A wish counts from when it is asked for on: those of others are not refused with it. What others hold is there until
// the driver has changed it.
Status ContextLimits::Raise(const void* place, CUlimit limit, uint64_t bytes) {
  std::lock_guard calls(calls_mutex_);
  std::optional<Wish> before;
  uint64_t wanted = 0;
  {
    std::lock_guard lock(mutex_);
    std::map<CUlimit, Wish>& wishes = wishes_[place];
    if (const auto wish = wishes.find(limit); wish != wishes.end()) before = wish->second;
    wishes[limit] = {.bytes = bytes, .held = std::max(Held(place, limit), bytes)};
    wanted = Wanted(limit);
    if (wanted <= limits_[limit].set) {
      Settle(limit);
      return {};
    }
    limits_[limit].is_changing = true;
  }
  const Status set = vendor_.Check(vendor_.cuCtxSetLimit(limit, wanted), "cuCtxSetLimit");
  std::lock_guard lock(mutex_);
  limits_[limit].is_changing = false;
  if (set) {
    limits_[limit].set = wanted;
    limits_[limit].stays = false;
  } else if (const auto wishes = wishes_.find(place); wishes != wishes_.end()) {
    wishes->second.erase(limit);
    if (before) wishes->second.emplace(limit, *before);
  }
  Settle(limit);
  return set;
}

void ContextLimits::Forget(const void* place) {
  std::lock_guard lock(mutex_);
  const auto gone = wishes_.extract(place);
  if (!gone) return;
  for (const auto& [limit, wish] : gone.mapped()) limits_[limit].stays = false;
}

bool ContextLimits::HasExcess() const {
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(limits_,
                             [&](const auto& one) { return !one.second.stays && Wanted(one.first) != one.second.set; });
}

Status ContextLimits::Lower(const std::function<bool()>& nothing_runs) {
  std::vector<CUlimit> limits;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [limit, known] : limits_) limits.push_back(limit);
  }
  for (const CUlimit limit : limits) {
    if (!nothing_runs()) return {};
    if (const Status lowered = LowerOne(limit); !lowered && vendor_.has_said_the_end()) return lowered;
  }
  return {};
}

// Who asks for more meanwhile finds that it is not there, and waits.
Status ContextLimits::LowerOne(CUlimit limit) {
  const std::unique_lock calls(calls_mutex_, std::try_to_lock);
  if (!calls) return {};
  uint64_t before = 0, wanted = 0;
  {
    std::lock_guard lock(mutex_);
    Limit& known = limits_[limit];
    before = known.set;
    wanted = Wanted(limit);
    if (known.stays || wanted == before) return {};
    known.set = std::min(wanted, before);
    known.is_changing = true;
  }
  const Status set = vendor_.Check(vendor_.cuCtxSetLimit(limit, wanted), "cuCtxSetLimit");
  std::lock_guard lock(mutex_);
  limits_[limit].is_changing = false;
  limits_[limit].set = set ? wanted : before;
  limits_[limit].stays = !set;
  Settle(limit);
  return set;
}

}  // namespace tutti::executor
