// An executor's process, from the server's side. It has places for one client, or for several
// (device/gpu/executor_link.h), and ends with the last of them, or with this object.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/error.h"
#include "os/fd.h"
#include "os/spawner.h"
#include "wire/channel_layout.h"

namespace tutti::device::gpu {

// Thread-safe.
class ExecutorProcess {
 public:
  static constexpr uint64_t kFiles = 4;  // that this process has open for each
  static constexpr int kStartTimeoutMs = 60'000;  // for what it does before it has a client

  // The spawner's first program is the executor (ProgramOf). Fails, with the reason, if it has no device. With
  // CUDA_ERROR_DEVICE_UNAVAILABLE if it has ended before it has said so: another one may not.
  static Result<std::shared_ptr<ExecutorProcess>> Start(std::shared_ptr<os::Spawner> spawner);
  // Does not wait for its end.
  ~ExecutorProcess();
  ExecutorProcess(const ExecutorProcess&) = delete;
  ExecutorProcess& operator=(const ExecutorProcess&) = delete;

  // Why it is not confined, or less than it could be (executor/confinement.h); "": it is.
  const std::string& unconfined() const { return unconfined_; }
  // Of its device. What is wrong in it has been put right.
  const wire::DeviceInfo& device() const { return device_; }
  pid_t pid() const { return pid_; }
  // Readable when it has ended (os/pidfd.h).
  std::shared_ptr<const os::Fd> process() const { return process_; }

  // A client comes, with what its place is to have (executor::PlaceFile). Does not wait. Fails with
  // CUDA_ERROR_DEVICE_UNAVAILABLE if it takes none.
  Status Enter(std::span<const int> files, uint32_t flags);
  // A client that came has gone; the last one's going is the end.
  void Leave();
  // It takes no more clients: one that has gone is in the way of others.
  void TakeNoMore();
  // And those that it has are to go elsewhere, as soon as they can: then it ends.
  void HaveClientsLeave();
  bool is_to_be_left() const { return is_to_be_left_.load(std::memory_order_relaxed); }
  bool takes_clients() const;
  // One of its clients has been told that the context is lost, which is all clients' and no request's doing. The others
  // may not have been told when it is killed for that. Thread-safe.
  void NoteContextLost() { context_is_lost_.store(true, std::memory_order_release); }
  bool context_is_lost() const { return context_is_lost_.load(std::memory_order_acquire); }
  // By more than one.
  bool is_shared() const;
  // Whatever clients it still has.
  void End();

  // It has ended, or is to.
  bool HasEnded() const;
  // What it says last of what is wrong with it, on its stderr; nothing if that is no text.
  std::string LastWords() const;

 private:
  struct Files {
    os::Fd control;
    os::Fd process;
    os::Fd lifeline;
    os::Fd words;  // a small memory file in place of its stderr
  };
  ExecutorProcess(std::shared_ptr<os::Spawner> spawner, pid_t pid, Files files)
      : spawner_(std::move(spawner)),
        pid_(pid),
        control_(std::move(files.control)),
        process_(std::make_shared<const os::Fd>(std::move(files.process))),
        words_(std::move(files.words)),
        lifeline_(std::move(files.lifeline)) {}
  Status AwaitHello();
  void Kill();  // mutex_

  const std::shared_ptr<os::Spawner> spawner_;
  const pid_t pid_;
  const os::Fd control_;  // nothing can be sent on it to this process once there is a client
  const std::shared_ptr<const os::Fd> process_;
  const os::Fd words_;
  wire::DeviceInfo device_{};
  std::string unconfined_;

  mutable std::mutex mutex_;
  os::Fd lifeline_;  // none: it has been killed
  uint32_t clients_ = 0;
  bool takes_clients_ = true;
  std::atomic<bool> is_to_be_left_{false}, context_is_lost_{false};
};

// The end of a client's place: until then memory that it had, and its addresses in that executor, are in use.
class PlaceEnd {
 public:
  PlaceEnd(std::shared_ptr<const os::Fd> over, const std::shared_ptr<ExecutorProcess>& of)
      : over_(std::move(over)), process_(of->process()), of_(of) {}

  bool IsOver() const;
  // False: it is not over in time.
  bool Await(int timeout_ms) const;
  // Not for others, as long as it is not over: those that are there leave it, if they can.
  void HaveOthersLeave() const;
  // With all that others have there.
  void EndExecutor() const;

 private:
  bool ExecutorEnds() const;
  bool IsGivenBack() const;

  std::shared_ptr<const os::Fd> over_;  // hangs up
  std::shared_ptr<const os::Fd> process_;
  std::weak_ptr<ExecutorProcess> of_;
};

}  // namespace tutti::device::gpu
