// The limits of the vendor's context (cuCtxSetLimit), which all places of an executor have in common: each is the
// largest that a place has asked for, and never less than a fresh context has, on which those count that have asked for
// nothing. Of what is no memory it may be less where all have asked for less. What is too small for one ends the
// context of all; what is larger than anybody needs takes memory.
//
// A driver may wait for running kernels before it changes a limit, for a neighbour's endless one as well. So it is
// asked for nothing that is there already, and a limit that is too large is lowered when nothing runs. Until then those
// places *hold* it that have asked for it: the memory counts as theirs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "base/error.h"
#include "executor/vendor.h"

namespace tutti::executor {

// Thread-safe; the context is current in all threads.
class ContextLimits {
 public:
  explicit ContextLimits(const Vendor& vendor) : vendor_(vendor) {}

  // Reads what a fresh context has.
  void Open();

  // A place is known by an address. It counts on what a fresh context has until it asks for something else. Does not
  // wait.
  void Add(const void* place);
  // Raising a limit may wait for running kernels, and for others that raise one: it is done only where it `may_raise`,
  // else nothing is changed. So may lowering one, which is done if `may_lower` says so, asked where it is too large.
  // What the place holds of it: at least `bytes`, where it may raise it. Fails as the driver does that raises it, and
  // changes nothing then.
  Result<uint64_t> Set(const void* place, cuda::CUlimit limit, uint64_t bytes, bool may_raise,
                       const std::function<bool()>& may_lower);
  // It asks for nothing any more. Does not wait.
  void Forget(const void* place);

  // Whether some are larger than anybody asks for, or smaller than in a fresh context though somebody counts on that,
  // and the driver has not refused to change them. Does not wait.
  bool HasExcess() const;
  // Changes these, while `nothing_runs` (asked before each of them). Fails as the driver does.
  Status Lower(const std::function<bool()>& nothing_runs);

 private:
  struct Limit {
    bool is_known = false;  // what a fresh context has, which may be 0
    uint64_t of_fresh = 0;
    uint64_t set = 0;  // what the driver has at least
    bool is_changing = false;  // just now: the driver may refuse it
    bool stays = false;  // it has refused to change it
  };
  struct Wish {
    uint64_t bytes = 0;
    uint64_t held = 0;
  };
  // With mutex_.
  uint64_t Wanted(cuda::CUlimit limit) const;
  void Settle(cuda::CUlimit limit);
  uint64_t Held(const void* place, cuda::CUlimit limit) const;

  Status Raise(const void* place, cuda::CUlimit limit, uint64_t bytes);
  Status LowerOne(cuda::CUlimit limit);

  const Vendor& vendor_;
  std::mutex calls_mutex_;  // held while the driver is asked to change one; taken first
  mutable std::mutex mutex_;  // the rest; nobody waits with it
  std::map<cuda::CUlimit, Limit> limits_;
  std::map<const void*, std::map<cuda::CUlimit, Wish>> wishes_;
};

}  // namespace tutti::executor
