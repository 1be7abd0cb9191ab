#include "os/close_aside.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "os/socket.h"
#include "os/thread.h"

namespace tutti::os {
namespace {

// A message may carry 253 such sockets, and a queue hold many messages.
constexpr long kMomentNs = 100'000;

// A process has one handler for each signal, so this must be one that nobody else in it wants: SIGURG takes SMs out of
// kernels.
const int kInterrupt = SIGRTMIN;

class Closer {
 public:
  static Closer& Get() {
    static Closer* const closer = new Closer;  // its thread may outlive main
    return *closer;
  }

  void Close(Fd fd) {
    // a forked child has no such thread, and its copies of our descriptors are not the last
    if (getpid() != pid_ || !runs_) return;
    {
      const std::lock_guard lock(mutex_);
      if (busy()) InterruptFromNowOn();
      queue_.push_back(std::move(fd));
    }
    given_.notify_one();
  }

  void AwaitEmpty() {
    std::unique_lock lock(mutex_);
    if (busy()) InterruptFromNowOn();
    closed_.wait(lock, [this] { return !busy(); });
  }

 private:
  Closer() {
    // The thread begins with every signal blocked: those of the process are for others.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread = TryStartThread("closer", [this] { Run(); });
    runs_ = thread.joinable();  // if not, callers close directly
    if (runs_) thread.detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void Run() {
    struct sigaction nothing{};
    nothing.sa_handler = [](int) {};  // no SA_RESTART: it interrupts
    sigaction(kInterrupt, &nothing, nullptr);
    sigset_t urgent;
    sigemptyset(&urgent);
    sigaddset(&urgent, kInterrupt);
    pthread_sigmask(SIG_UNBLOCK, &urgent, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kInterrupt;
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    std::unique_lock lock(mutex_);
    has_timer_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    if (busy()) InterruptFromNowOn();
    for (;;) {
      given_.wait(lock, [this] { return !queue_.empty(); });
      closing_ = true;
      std::deque<Fd> closing = std::exchange(queue_, {});
      lock.unlock();
      closing.clear();
      lock.lock();
      closing_ = false;
      if (!queue_.empty()) continue;
      if (std::exchange(interrupts_, false)) Interrupt(0);
      closed_.notify_all();
    }
  }

  // With the lock held:
  bool busy() const { return closing_ || !queue_.empty(); }
  // Called by a thread whose descriptor is queued behind the current close, so that a close which holds up nothing
  // costs no timer.
  void InterruptFromNowOn() {
    if (has_timer_ && !std::exchange(interrupts_, true)) Interrupt(kMomentNs);
  }
  void Interrupt(long every_ns) {
    const itimerspec times{.it_interval = {0, every_ns}, .it_value = {0, every_ns}};
    timer_settime(timer_, 0, &times, nullptr);
  }

  const pid_t pid_ = getpid();
  bool runs_ = false;
  std::mutex mutex_;
  std::condition_variable given_, closed_;
  std::deque<Fd> queue_;
  bool closing_ = false;
  timer_t timer_{};
  bool has_timer_ = false;
  bool interrupts_ = false;  // the timer runs
};

// For a Unix socket that has been shut down. With credentials requested and no room for them, the kernel flags every
// message as truncated, even one without bytes, which would otherwise look like end of file and may have others behind
// it.
bool HasNothingUnread(int socket) {
  const int on = 1;
  msghdr nothing{};
  if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return false;
  return recvmsg(socket, &nothing, MSG_PEEK | MSG_DONTWAIT) == 0 && nothing.msg_flags == 0;
}

}  // namespace

void StrangersFd::ShutDown() { shut_down_ = shutdown(fd_.get(), SHUT_RDWR) == 0; }

bool StrangersFd::IsDrained() const { return shut_down_ && HasNothingUnread(fd_.get()); }

void StrangersFd::Close() {
  if (IsDrained()) return fd_.Reset();
  CloseAside(std::move(fd_));
}

void CloseAside(Fd fd) {
  if (fd && MayHoldDescriptors(fd.get())) Closer::Get().Close(std::move(fd));
}

void AwaitClosed() { Closer::Get().AwaitEmpty(); }

}  // namespace tutti::os
