#include "os/close_aside.h"

#include <signal.h>
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

// A process has one handler for each signal, so this must be one that nobody else in it wants: SIGURG takes SMs out of kernels.
const int kInterrupt = SIGRTMIN;

class Closer {
 public:
  static Closer& Get() {
    static Closer* const closer = new Closer;  // its thread may outlive main
    return *closer;
  }

  void Close(Fd fd) {
    if (getpid() != pid_ || !runs_) return;  // a fork has no such thread, and what it has of our descriptors is not the last of them
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(fd));
    given_.notify_one();
  }

  void AwaitEmpty() {
    std::unique_lock lock(mutex_);
    closed_.wait(lock, [this] { return queue_.empty() && !closing_; });
  }

 private:
  Closer() {
    // The thread begins with every signal blocked: those of the process are for others.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread = TryStartThread("closer", [this] { Run(); });
    runs_ = thread.joinable();  // if not, everything is closed where it is given
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
    timer_t timer{};
    const bool interrupted = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
    for (;;) {
      std::deque<Fd> closing = Next();
      if (interrupted) Interrupt(timer, kMomentNs);
      closing.clear();
      if (interrupted) Interrupt(timer, 0);
      Done();
    }
  }

  static void Interrupt(timer_t timer, long every_ns) {
    const itimerspec times{.it_interval = {0, every_ns}, .it_value = {0, every_ns}};
    timer_settime(timer, 0, &times, nullptr);
  }

  std::deque<Fd> Next() {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [this] { return !queue_.empty(); });
    closing_ = true;
    return std::exchange(queue_, {});
  }

  void Done() {
    const std::lock_guard lock(mutex_);
    closing_ = false;
    if (queue_.empty()) closed_.notify_all();
  }

  const pid_t pid_ = getpid();
  bool runs_ = false;
  std::mutex mutex_;
  std::condition_variable given_, closed_;
  std::deque<Fd> queue_;
  bool closing_ = false;
};

}  // namespace

void CloseAside(Fd fd) {
  if (fd && MayHoldDescriptors(fd.get())) Closer::Get().Close(std::move(fd));
}

void AwaitClosed() { Closer::Get().AwaitEmpty(); }

}  // namespace tutti::os
