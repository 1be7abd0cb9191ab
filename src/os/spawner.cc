#include "os/spawner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "os/socket.h"
#include "os/spawn.h"

namespace tutti::os {
namespace {

// Then it is given up for good; ten seconds have passed on a machine with seven times its load.
constexpr int kAnswerMs = 60'000;
constexpr int kReapMs = 50;  // between two looks whether what was abandoned has ended
constexpr int kSocketFd = 3, kFirstFreeFd = 4;  // in the spawner

// --- in the spawner

// A request is a program's number and a process to end, or 0 for a new one, accompanied by its descriptors. The answer
// is an errno value or 0, and a process id or an exit status. A process to abandon is named by its negative number, and
// nothing is answered.
class Host {
 public:
  explicit Host(std::vector<Spawner::Program> programs) : programs_(std::move(programs)) {}

  [[noreturn]] void Run() {
    for (;;) {
      AwaitQuestion();
      const auto question = Receive(kSocketFd);
      if (!question || question->bytes.empty()) _exit(0);
      ByteReader in(question->bytes);
      const auto program = in.Get<uint32_t>();
      const auto child = in.Get<int32_t>();
      if (in.ok() && child < 0) {
        Abandon(-int64_t{child});
        continue;
      }
      const auto answer = !in.ok() ? Answer{EINVAL, 0} : child == 0 ? Start(program, question->fds) : End(child);
      ByteWriter out;
      out.Put(int32_t{answer.error});
      out.Put(int32_t{answer.value});
      if (!Send(kSocketFd, out.bytes())) _exit(0);
    }
  }

 private:
  struct Answer {
    int error;
    int value;
  };
  struct Child {
    pid_t pid;
    uint32_t program;
    bool abandoned = false;
  };

  Answer Start(uint32_t number, const std::vector<Fd>& fds) {
    if (number >= programs_.size() || fds.size() != programs_[number].files.size()) return {EINVAL, 0};
    const Spawner::Program& program = programs_[number];
    Reap();
    if (static_cast<size_t>(std::ranges::count(children_, number, &Child::program)) >= program.most) return {EAGAIN, 0};
    SpawnOptions options{.path = program.path, .arguments = program.arguments, .environment = program.environment};
    for (const int standard : {0, 1, 2}) {
      if (std::ranges::find(program.files, standard) == program.files.end())
        options.files.emplace_back(standard, standard);
    }
    for (size_t i = 0; i < fds.size(); ++i) options.files.emplace_back(fds[i].get(), program.files[i]);
    const auto pid = Spawn(options);
    if (!pid) return {errno != 0 ? errno : ENOEXEC, 0};
    children_.push_back({*pid, number});
    return {0, *pid};
  }

  // Only we reap, so the number is still the child's.
  Answer End(pid_t child) {
    const auto found = Find(child);
    if (found == children_.end()) return {ESRCH, 0};
    children_.erase(found);
    kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return {0, status};
  }

  // Until it has ended it counts.
  void Abandon(int64_t child) {
    const auto found = Find(child);
    if (found == children_.end()) return;
    kill(found->pid, SIGKILL);
    found->abandoned = true;  // reaped before the next question
  }

  std::vector<Child>::iterator Find(int64_t child) {
    return std::ranges::find_if(children_, [child](const Child& one) { return one.pid == child && !one.abandoned; });
  }

  bool Reap() {
    std::erase_if(children_, [](const Child& child) {
      return child.abandoned && waitpid(child.pid, nullptr, WNOHANG) == child.pid;
    });
    return std::ranges::any_of(children_, &Child::abandoned);
  }

  void AwaitQuestion() {
    pollfd question{kSocketFd, POLLIN, 0};
    while (Reap() && poll(&question, 1, kReapMs) == 0) {
    }
  }

  const std::vector<Spawner::Program> programs_;
  std::vector<Child> children_;
};

// Overwrites the arguments inherited over the fork, so that a search for servers by name or command line does not find
// a second one.
void CallItself(std::string_view name) {
  prctl(PR_SET_NAME, std::string(name).c_str(), 0, 0, 0);
  constexpr int kArgumentsBegin = 48, kArgumentsEnd = 49;  // of proc_pid_stat(5)
  std::string stat;
  std::getline(std::ifstream("/proc/self/stat"), stat);
  std::istringstream fields(stat.substr(std::min(stat.rfind(')'), stat.size())));  // the second one ends here
  std::vector<std::string> values(std::istream_iterator<std::string>(fields), {});
  if (values.size() <= kArgumentsEnd - 2) return;
  auto* const begin = reinterpret_cast<char*>(std::strtoull(values[kArgumentsBegin - 2].c_str(), nullptr, 10));
  auto* const end = reinterpret_cast<char*>(std::strtoull(values[kArgumentsEnd - 2].c_str(), nullptr, 10));
  if (begin == nullptr || end <= begin) return;
  std::fill(begin, end, '\0');
  std::copy_n(name.begin(), std::min<size_t>(name.size(), static_cast<size_t>(end - begin) - 1), begin);
}

[[noreturn]] void RunHost(std::vector<Spawner::Program> programs, int socket) {
  // It ends when the server does, stopped or not. Signals that a service manager sends to all of a server's processes
  // are for the server to handle.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  CallItself("tutti-spawner");
  for (const int ignored : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) signal(ignored, SIG_IGN);
  // The server cannot trace it either, since it keeps rights that the server is to lose.
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // The socket first, since it may have one of these numbers.
  const int own = fcntl(socket, F_DUPFD_CLOEXEC, kFirstFreeFd);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (own < 0 || nothing < 0) _exit(1);
  for (const int fd : {0, 1, 2}) {
    if (dup2(nothing, fd) < 0) _exit(1);
  }
  if (dup3(own, kSocketFd, O_CLOEXEC) < 0) _exit(1);
  close_range(kFirstFreeFd, ~0u, 0);
  Host(std::move(programs)).Run();
}

}  // namespace

// --- in the server

Result<std::shared_ptr<Spawner>> Spawner::Start(std::vector<Program> programs) {
  TUTTI_ASSIGN(auto pair, SocketPair());
  const pid_t pid = fork();
  if (pid < 0) return FailErrno("starting the process that starts others");
  if (pid == 0) RunHost(std::move(programs), pair.second.get());
  return std::shared_ptr<Spawner>(new Spawner(pid, std::move(pair.first)));
}

Spawner::~Spawner() {
  // A confined server may signal nobody; its spawner ends with it.
  if (kill(pid_, SIGKILL) != 0) return;
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<pid_t> Spawner::StartProgram(uint32_t program, std::span<const int> fds) { return Ask(program, 0, fds); }

Result<int> Spawner::End(pid_t child) {
  if (child <= 0) return Fail(fmt::format("there is no process {}", child));  // to the spawner these are other requests
  return Ask(0, child, {});
}

// One message, so it does not get between others' questions and answers.
void Spawner::Abandon(pid_t child) {
  if (child <= 0) return;
  ByteWriter message;
  message.Put(uint32_t{0});
  message.Put(int32_t{-child});
  (void)Send(socket_.get(), message.bytes());
}

Result<int> Spawner::Ask(uint32_t program, pid_t child, std::span<const int> fds) {
  const std::lock_guard lock(mutex_);
  ByteWriter question;
  question.Put(program);
  question.Put(int32_t{child});
  if (const auto sent = Send(socket_.get(), question.bytes(), fds); !sent) {
    lost_.store(true, std::memory_order_relaxed);
    return std::unexpected(sent.error());
  }
  const auto answer = Receive(socket_.get(), kAnswerMs);
  if (!answer || answer->bytes.empty()) {
    // A late answer would be taken for the answer to the next request.
    shutdown(socket_.get(), SHUT_RDWR);
    lost_.store(true, std::memory_order_relaxed);
    return Fail(answer ? "it has ended" : answer.error().text);
  }
  ByteReader in(answer->bytes);
  const auto error = in.Get<int32_t>();
  const auto value = in.Get<int32_t>();
  if (error == 0) return value;
  errno = error;
  return FailErrno("starting a program");
}

}  // namespace tutti::os
