// The vendor's context, which all places of an executor use (executor/place.h): whether it is lost, which one of them
// may find and all have to know, and its limits.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>

#include "base/error.h"
#include "executor/context_limits.h"
#include "executor/protocol/exchange.h"
#include "executor/vendor.h"

namespace tutti::executor {

// Thread-safe; the context is current in all threads.
class Context {
 public:
  explicit Context(const Vendor& vendor) : vendor_(vendor), limits_(vendor) {}

  // Makes what IsLost looks at, and reads the limits, before anything runs.
  Status Open();

  // A place is known by its exchange. It waits for nothing: limits that are less than it counts on are there when
  // nothing runs (LowerLimits).
  void Add(Exchange* place);
  void Remove(Exchange* place);  // waits for nothing
  // It is the only one.
  bool IsAlone(Exchange* place);

  // A place has something with the driver that is not done, from Begin to End.
  void Begin() { running_.fetch_add(1, std::memory_order_relaxed); }
  void End() { running_.fetch_sub(1, std::memory_order_relaxed); }
  bool anything_runs() const { return running_.load(std::memory_order_relaxed) != 0; }

  // A call has failed. Drivers say what a kernel has done to the context of later calls, too, so some that cannot fail
  // otherwise tell whether it is lost. If it is, all places are woken. Where the context is not current, only what a
  // driver has said of it may be noted. May wait as the driver likes; nothing but who calls it waits for that.
  void NoteFailure(const Error& error);
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  // Once it is: with what.
  Error failure();

  // What the place holds of it then (executor/context_limits.h). May wait for running kernels where a limit is raised,
  // if it `may_wait`; nothing but others that raise one waits for it. One is lowered if nothing runs; a place that is
  // alone and `may_wait` waits a moment for its own work.
  Result<uint64_t> SetLimit(Exchange* place, cuda::CUlimit limit, uint64_t bytes, bool may_wait = true);
  // Limits that are larger than anybody asks for are to be lowered when nothing runs, and those raised that are less
  // than somebody counts on (executor/leftovers.h).
  bool HasExcessLimits() const { return !lost() && limits_.HasExcess(); }
  // Does that, as far as nothing runs. May wait as the driver likes, if something begins meanwhile.
  void LowerLimits();

 private:
  bool IsLost() const;
  bool RunsNothingSoon() const;

  const Vendor& vendor_;
  cuda::CUstream idle_ = nullptr;  // in which nothing is done; null: not opened
  ContextLimits limits_;

  std::mutex mutex_;
  std::set<Exchange*> places_;
  std::atomic<bool> lost_{false};
  std::atomic<int> running_{0};  // places
  Error failure_;
};

}  // namespace tutti::executor
