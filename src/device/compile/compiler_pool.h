// The compiler workers of a server: started on demand, up to a limit, and ended when idle for a while, so that an idle
// server has no LLVM in memory.
//
// A worker that dies or takes too long costs the request it was working on and nothing else. A worker sees one image:
// if that takes it over, no kernel of another image is affected. Thread-safe; calls block.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
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

  // The worker's answer. `image_key` names the image: a worker that has parsed it already is reused. The answer's
  // status is the worker's own; an error is one of the machinery (no compiler, a dead worker, a time limit).
  Result<CompilerProcess::Answer> Compile(const compiler::CompileRequest& request, std::span<const uint8_t> image,
                                          const CacheKey& image_key, const Cancelled& cancelled);

  size_t workers() const;  // alive now

 private:
  struct Idle {
    std::unique_ptr<CompilerProcess> process;
    CacheKey image;
    uint64_t since_ns;
  };

  // Waits for a free place. A null process: start one. Fails if cancelled.
  Result<std::unique_ptr<CompilerProcess>> TakePlace(const CacheKey& image_key, const Cancelled& cancelled);
  bool HasPlaceFor(const Cancelled& client, uint64_t waited_ns) const;  // lock held
  void GiveBack(std::unique_ptr<CompilerProcess> process, const CacheKey& image_key, const Cancelled& client);
  void EndIdle();

  const CodeSettings settings_;
  const std::shared_ptr<CompilerHost> host_;
  LogBudget log_;
  mutable std::mutex mutex_;
  std::condition_variable place_free_;
  std::condition_variable idle_changed_;
  std::vector<Idle> idle_;  // the longest idle first
  uint32_t busy_ = 0;
  std::map<const Cancelled*, uint32_t> busy_for_;  // by client
  bool stopping_ = false;
  std::thread reaper_;
};

}  // namespace tutti::device
