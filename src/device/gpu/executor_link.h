// One executor, from the server's side: its process, its ring and ledger, and its answers. It ends with this object.
//
// Nothing of what an executor writes is believed: kernels of its client run in the process of its driver. Each word is
// read once, and one that cannot be is the end of the executor, as is an answer that does not come. Its bell is its
// own: what an executor does to that, others do not notice. Of its files only those are received that an answer comes
// with (device/gpu/lent_file.h).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/protocol/exchange.h"
#include "executor/protocol/request.h"
#include "os/close_aside.h"
#include "os/fd.h"
#include "os/memory.h"
#include "os/spawner.h"

namespace tutti::device::gpu {

class ExecutorLink {
 public:
  static constexpr uint64_t kFiles = 6;  // that this process has open for each
  static constexpr int kStartTimeoutMs = 60'000;  // for what it does before it has a client

  // The spawner's first program is the executor (ProgramOf). Fails, with the reason, if it has no device.
  static Result<std::unique_ptr<ExecutorLink>> Start(std::shared_ptr<os::Spawner> spawner);
  // Does not wait for its end.
  ~ExecutorLink();
  ExecutorLink(const ExecutorLink&) = delete;
  ExecutorLink& operator=(const ExecutorLink&) = delete;

  // Who closes its socket, where that may wait: it has sent what nobody has received. Called at most once, as this
  // ends; must not wait. Set before it serves a client; CloseAside does it before, and without.
  using LetGo = std::function<void(os::Fd first_sent, os::Fd socket)>;
  void LetGoBy(LetGo let_go) { let_go_ = std::move(let_go); }

  // Why it is not confined, or less than it could be (executor/confinement.h); "": it is.
  const std::string& unconfined() const { return unconfined_; }
  // Of its device. What is wrong in it has been put right.
  const wire::DeviceInfo& device() const { return device_; }
  pid_t pid() const { return pid_; }
  // Readable when it has ended (os/pidfd.h).
  std::shared_ptr<const os::Fd> process() const { return process_; }

  // Asks, and waits until it answers, has ended or is killed: without a timeout however long that takes, since drivers
  // compile, and wait for running kernels. Thread-safe.
  struct Reply {
    executor::Answer answer;
    os::StrangersFd file;
  };
  Result<Reply> Ask(const executor::Request& request, int file = -1, int timeout_ms = -1);

  // Has it killed, and whoever asks it go on. Does not wait. Thread-safe.
  void Kill();
  // It has ended, or is to.
  bool HasEnded() const;

  // The ring and the ledger: with the Space's lock.
  executor::Exchange* exchange() const { return reinterpret_cast<executor::Exchange*>(mapping_.data()); }
  // The last sequence number of a stream that is done, if it has been given `given`; nothing if that cannot be.
  std::optional<uint64_t> Done(uint32_t stream, uint64_t given);
  // What kernels have printed, and what assertions of theirs have said, since the last time; nothing if that cannot be.
  struct Texts {
    std::string printed, failed;
  };
  std::optional<Texts> TakeTexts();
  // What it has failed with, if it has.
  std::optional<Error> Failure() const;
  // What it says last of what is wrong with it, on its stderr; nothing if that is no text.
  std::string LastWords() const;
  // The server is about to sleep: the bell is to be rung.
  void Awaits() { exchange()->server_sleeps.store(1, std::memory_order_seq_cst); }
  // Readable when the bell has been rung since Hear, and when it has ended.
  int wake_fd() const { return wakes_.get(); }
  void Hear() const;

 private:
  struct Files {
    os::StrangersFd socket;
    os::Fd process;
    os::Fd lifeline;
    os::Fd words;  // a small memory file in place of its stderr
    os::Fd bell;  // an eventfd. It is not read: the executor may make readers wait.
    os::Fd wakes;  // an epoll of the bell and the socket
    os::Mapping exchange;
  };
  ExecutorLink(std::shared_ptr<os::Spawner> spawner, pid_t pid, Files files)
      : spawner_(std::move(spawner)),
        pid_(pid),
        socket_(std::move(files.socket)),
        process_(std::make_shared<const os::Fd>(std::move(files.process))),
        words_(std::move(files.words)),
        bell_(std::move(files.bell)),
        wakes_(std::move(files.wakes)),
        lifeline_(std::move(files.lifeline)),
        mapping_(std::move(files.exchange)),
        done_(executor::kMostStreams) {}
  Status AwaitHello();
  struct Received {
    std::vector<uint8_t> bytes;  // none: it has ended
    os::StrangersFd file;
  };
  Result<Received> Receive(executor::RequestKind kind, int timeout_ms);

  const std::shared_ptr<os::Spawner> spawner_;
  const pid_t pid_;
  os::StrangersFd socket_;  // shut down with ended_mutex_. It takes descriptors only while it is to be sent one.
  os::Fd in_the_way_;  // what the message carries that is left in it; asking_
  LetGo let_go_;
  const std::shared_ptr<const os::Fd> process_;
  const os::Fd words_, bell_, wakes_;
  os::Fd lifeline_;  // ended_mutex_
  mutable std::mutex ended_mutex_;
  std::atomic<bool> ended_{false};
  const os::Mapping mapping_;
  wire::DeviceInfo device_{};
  std::string unconfined_;
  std::mutex asking_;
  std::vector<uint64_t> done_;  // by stream
  uint64_t taken_printed_ = 0, taken_failed_ = 0;  // bytes
};

}  // namespace tutti::device::gpu
