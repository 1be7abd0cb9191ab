// The compiler workers of a server: started on demand, up to a limit, and ended when idle for a while, so that an idle
// server has no LLVM in memory.
//
// A worker that dies or takes too long costs the request it was working on and nothing else. A worker sees one image:
// if that takes it over, no kernel of another image is affected. Thread-safe; calls block.
//
// A program that is killed in a long compilation would begin it again each time it is started. So a compilation that
// has gone on for a while is finished for the cache when its client has gone: one at a time in a server, within the
// limits of any other, in the place of a client, and only as long as no client waits for a place. It ends with the
// pool.
//
// Code is compiled in the background for those who have quick code meanwhile. That begins where there is a place and
// nobody waits for one, and takes none from those who come later.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/log_budget.h"
#include "device/compile/cache_key.h"
#include "device/compile/code_settings.h"
#include "device/compile/compiler_process.h"

namespace tutti::device {

class CompilerPool {
 public:
  CompilerPool(const CodeSettings& settings, std::shared_ptr<CompilerHost> host)
      : settings_(settings), host_(std::move(host)) {}
  ~CompilerPool();
  CompilerPool(const CompilerPool&) = delete;
  CompilerPool& operator=(const CompilerPool&) = delete;

  // What is done with code that nobody waits for any more; called by a thread of the pool.
  using KeepCode = std::function<void(const std::vector<uint8_t>&)>;

  // The worker's answer. `image_key` names the image: a worker that has parsed it already is reused. The answer's
  // status is the worker's own; an error is one of the machinery (no compiler, a dead worker, a time limit). `key`
  // names the code for AwaitUnattended; without `keep` a cancelled compilation ends.
  Result<CompilerProcess::Answer> Compile(const compiler::CompileRequest& request, std::span<const uint8_t> image,
                                          const CacheKey& image_key, const Cancelled& cancelled,
                                          const CacheKey& key = {}, const KeepCode& keep = nullptr);

  // The same for code that nobody waits for. `in_addition`: to others in the background, which go on for long.
  Result<CompilerProcess::Answer> CompileInBackground(const compiler::CompileRequest& request,
                                                      std::span<const uint8_t> image, const CacheKey& image_key,
                                                      const Cancelled& cancelled, bool in_addition = false);

  // Returns once no compilation of this code goes on without its client, or if cancelled.
  void AwaitUnattended(const CacheKey& key, const Cancelled& cancelled);

  size_t workers() const;  // alive now

 private:
  struct Idle {
    std::unique_ptr<CompilerProcess> process;
    CacheKey image;
    uint64_t since_ns;
  };

  enum class Urgency : uint8_t { kAwaited, kBackground, kBackgroundInAddition };
  // Whose a request is, and of what.
  struct Turn {
    const Cancelled& client;
    const CacheKey& image;
    Urgency urgency = Urgency::kAwaited;
    bool is_awaited() const { return urgency == Urgency::kAwaited; }
  };

  Result<CompilerProcess::Answer> Compile(const compiler::CompileRequest& request, std::span<const uint8_t> image,
                                          const Turn& turn, const CacheKey& key, const KeepCode& keep);
  // Waits for a free place. A null process: start one. Fails if cancelled.
  Result<std::unique_ptr<CompilerProcess>> TakePlace(const Turn& turn);
  bool HasPlaceFor(const Turn& turn, uint64_t waited_ns) const;  // lock held
  void GiveBack(std::unique_ptr<CompilerProcess> process, const Turn& turn);
  void EndIdle();
  // Takes the process over if its compilation is to be finished without its client.
  bool LeaveUnattended(std::unique_ptr<CompilerProcess>& process, const Turn& turn, const CacheKey& key,
                       const KeepCode& keep);
  void FinishUnattended(const CacheKey& image_key, const KeepCode& keep);  // its thread
  void EndUnattended();                                                    // lock held; if nobody awaits it
  void TakeFrom(const Cancelled& client);                                  // lock held: one busy worker less

  const CodeSettings settings_;
  const std::shared_ptr<CompilerHost> host_;
  LogBudget log_;
  mutable std::mutex mutex_;
  std::condition_variable place_free_;
  std::condition_variable idle_changed_;
  std::vector<Idle> idle_;  // the longest idle first
  uint32_t busy_ = 0;
  uint32_t in_background_ = 0;  // of these
  uint32_t in_addition_ = 0;  // of those
  std::map<const Cancelled*, uint32_t> busy_for_;  // by client
  bool stopping_ = false;
  std::thread reaper_;

  struct Unattended {
    CacheKey key;
    uint64_t number;
    uint32_t awaited = 0;  // by clients
  };
  uint64_t next_unattended_ = 0;
  uint32_t waiting_ = 0;  // clients, for a place; without those in the background
  std::optional<Unattended> unattended_;
  std::unique_ptr<CompilerProcess> unattended_process_;  // of its thread
  Cancelled end_unattended_{false};
  std::thread finisher_;
};

}  // namespace tutti::device
