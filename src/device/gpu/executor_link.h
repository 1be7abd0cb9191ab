// A client's place in an executor, from the server's side: its ring and ledger, and the executor's answers. It ends
// with this object, and so does the executor's process if it has no other client.
//
// Nothing of what an executor writes is believed: kernels of its clients run in the process of its driver. Each word is
// read once, and one that cannot be is the end of the place, as is an answer that does not come. Its bell is its own:
// what an executor does to that, others do not notice. Of its files only those are received that an answer comes with
// (device/gpu/lent_file.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "device/gpu/executor_process.h"
#include "executor/protocol/exchange.h"
#include "executor/protocol/request.h"
#include "os/close_aside.h"
#include "os/fd.h"
#include "os/memory.h"

namespace tutti::device::gpu {

class ExecutorLink {
 public:
  static constexpr uint64_t kFiles = 4;  // that this process has open for each, besides those of its executor
  static constexpr int kStartTimeoutMs = ExecutorProcess::kStartTimeoutMs;

  // Fails if the executor takes no clients (any more). `flags`: of kEnter.
  static Result<std::unique_ptr<ExecutorLink>> Enter(std::shared_ptr<ExecutorProcess> executor, uint32_t flags = 0);
  // Does not wait for its end.
  ~ExecutorLink();
  ExecutorLink(const ExecutorLink&) = delete;
  ExecutorLink& operator=(const ExecutorLink&) = delete;

  // Who closes its socket, where that may wait: it has sent what nobody has received. Called at most once, as this
  // ends; must not wait. Set before it serves a client; CloseAside does it before, and without.
  using LetGo = std::function<void(os::Fd first_sent, os::Fd socket)>;
  void LetGoBy(LetGo let_go) { let_go_ = std::move(let_go); }

  const std::shared_ptr<ExecutorProcess>& executor() const { return executor_; }
  PlaceEnd end() const { return {over_, executor_}; }

  // Asks, and waits until it answers, has ended, has lost its context or is killed: without a timeout however long that
  // takes, since drivers compile, and wait for running kernels. Thread-safe.
  struct Reply {
    executor::Answer answer;
    os::StrangersFd file;
  };
  Result<Reply> Ask(const executor::Request& request, int file = -1, int timeout_ms = -1);

  // Has it end, with its process if nobody else is there, and whoever asks it go on. Does not wait. Thread-safe.
  void Kill();
  // It has ended, or is to.
  bool HasEnded() const;
  // A request has been sent to it, and no answer has come, nor will if it has ended. Thread-safe.
  bool has_unanswered() const { return unanswered_.load(std::memory_order_acquire); }
  // It has ended, and that may be what has ended it: its context was not lost before, as far as any client there knows.
  bool RequestMayHaveEndedIt() const { return has_unanswered() && !FailsForAll() && !executor_->context_is_lost(); }
  // It has said or done what cannot be, and has been killed for that.
  bool has_lied() const { return has_lied_.load(std::memory_order_acquire); }

  // Nobody else will have a place there: code that nothing keeps in its client's memory may run. Before others ask it.
  void KeepAlone() { is_alone_ = true; }
  bool is_alone() const { return is_alone_; }

  // The ring and the ledger: with the Space's lock.
  executor::Exchange* exchange() const { return reinterpret_cast<executor::Exchange*>(mapping_.data()); }
  // The last sequence number of a stream that is done, if it has been given `given`; nothing if that cannot be.
  std::optional<uint64_t> Done(uint32_t stream, uint64_t given);
  // When a record of kTime was reached that is done; 0: it does not say, or what cannot be.
  uint64_t TimeOf(uint32_t stream, uint64_t sequence) const;
  // The last one that its driver may have been given, of those from `done` to `given`. Once it has ended: no more.
  uint64_t MayHaveBegun(uint32_t stream, uint64_t done, uint64_t given) const;
  // Has it look whether anything has begun of what its driver has been given, or, `for_good`, withdraw that if nothing
  // has. One question at a time: until it is answered, or taken back.
  void AskToWithdraw(bool for_good);
  // Nothing: no answer yet. True: nothing has begun; and if that was asked, nothing will, and all that is done is told.
  std::optional<bool> HasNotBegun();
  // False: it is about to answer.
  bool TakeBackQuestion();
  // What kernels have printed, and what assertions of theirs have said, since the last time; nothing if that cannot be.
  struct Texts {
    std::string printed, failed;
  };
  std::optional<Texts> TakeTexts();
  // What it has failed with, if it has.
  std::optional<Error> Failure() const;
  // Whether that is the context's, and so a failure of all places, whoever has caused it.
  bool FailsForAll() const {
    const bool is_lost = exchange()->context_lost.load(std::memory_order_acquire) != 0;
    if (is_lost) executor_->NoteContextLost();
    return is_lost;
  }
  // Then: what a fenced kernel has recorded, if it is that. Any number may stand in it.
  std::optional<guest::FenceFault> FenceFault() const;
  // The server is about to sleep: the bell is to be rung.
  void Awaits() { exchange()->server_sleeps.store(1, std::memory_order_seq_cst); }
  // Readable when the bell has been rung since Hear, and when it has ended.
  int wake_fd() const { return wakes_.get(); }
  void Hear() const;

 private:
  struct Files {
    os::StrangersFd socket;
    os::Fd over;  // hangs up when the place has given everything back
    os::Fd bell;  // an eventfd. It is not read: the executor may make readers wait.
    os::Fd wakes;  // an epoll of the bell and the socket
    os::Mapping exchange;
  };
  ExecutorLink(std::shared_ptr<ExecutorProcess> executor, Files files)
      : executor_(std::move(executor)),
        socket_(std::move(files.socket)),
        over_(std::make_shared<const os::Fd>(std::move(files.over))),
        bell_(std::move(files.bell)),
        wakes_(std::move(files.wakes)),
        mapping_(std::move(files.exchange)),
        done_(executor::kMostStreams) {}
  struct Received {
    std::vector<uint8_t> bytes;  // none: it has ended
    os::StrangersFd file;
  };
  Status AwaitAnswer(int timeout_ms) const;
  Result<Received> Receive(executor::RequestKind kind);

  const std::shared_ptr<ExecutorProcess> executor_;
  const uint64_t entered_ns_ = NowNs();
  os::StrangersFd socket_;  // shut down with ended_mutex_. It takes descriptors only while it is to be sent one.
  os::Fd in_the_way_;  // what the message carries that is left in it; asking_
  LetGo let_go_;
  bool is_alone_ = false;
  bool asked_for_good_ = false;  // the Space's lock
  const std::shared_ptr<const os::Fd> over_;
  const os::Fd bell_, wakes_;
  mutable std::mutex ended_mutex_;
  std::atomic<bool> ended_{false}, has_lied_{false}, unanswered_{false};
  const os::Mapping mapping_;
  std::mutex asking_;
  std::vector<uint64_t> done_;  // by stream
  uint64_t taken_printed_ = 0, taken_failed_ = 0;  // bytes
};

}  // namespace tutti::device::gpu
