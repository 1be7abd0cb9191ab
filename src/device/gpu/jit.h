// Machine code for executors that clients share. A driver compiles PTX in the process that loads it, and a text may end
// that process, or never be done: so it is compiled in an executor without clients, which is expendable, and shared
// ones load nothing but the code. What has been compiled is kept in the code cache.
//
// Such an executor is started when it is needed, and ends when it has had nothing to do for a while: its context takes
// memory of the GPU, too. A text that takes it over may change what it makes of the next one: so it compiles for one
// group of clients that may share an executor, and the code is kept for them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/compile/code_cache.h"
#include "device/compile/code_settings.h"
#include "device/compile/code_source.h"
#include "device/compile/shared_work.h"
#include "device/gpu/executor_link.h"
#include "os/spawner.h"
#include "wire/channel_layout.h"

namespace tutti::device::gpu {

// Thread-safe.
class Jit {
 public:
  using Code = std::vector<uint8_t>;
  // Executors at once. Texts of one client, or of one group, that are never done leave some for the others.
  static constexpr size_t kMost = 3, kMostOfGroup = 2, kMostOfClient = 1;

  // `vendor`: path of the driver, which is a part of what code is kept under. `settings`: of the cache.
  Jit(const CodeSettings& settings, const std::string& vendor, const wire::DeviceInfo& device,
      std::shared_ptr<os::Spawner> spawner);
  // Nobody compiles any more.
  ~Jit();
  Jit(const Jit&) = delete;

  // Of the PTX of one module. `group`: Limits::sharers. Takes seconds, but returns soon after `cancelled`, which is the
  // client's, becomes true. Fails with the driver's error and its log, and where the driver ends, or takes longer than
  // a minute.
  Result<std::shared_ptr<const Code>> Compile(std::string_view text, const std::string& group,
                                              const Cancelled& cancelled);

 private:
  struct Idle {
    std::string group;
    std::shared_ptr<ExecutorLink> link;
    uint64_t since_ns;
  };
  struct Running {
    std::string group;
    const Cancelled* cancelled;
    uint64_t until_ns;
    std::shared_ptr<ExecutorLink> link;  // null: has not started
  };
  using Run = std::list<Running>::iterator;
  CacheKey KeyOf(std::string_view text, const std::string& group) const;
  Result<Code> CompileNow(std::string_view text, const std::string& group, const Cancelled& cancelled);
  bool HasRoomFor(const std::string& group, const Cancelled& cancelled) const;  // with the lock
  Result<Run> Begin(const std::string& group, const Cancelled& cancelled);
  void End(Run run);
  void Watch();

  CodeCache cache_;
  const CacheKey made_by_;
  const std::shared_ptr<os::Spawner> spawner_;
  SharedWork<Code> works_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Idle> idle_;  // the longest idle first
  std::list<Running> running_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tutti::device::gpu
