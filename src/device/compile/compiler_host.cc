#include "device/compile/compiler_host.h"

#include <fcntl.h>
#include <fmt/format.h>
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
#include <vector>

#include "base/bytes.h"
#include "compiler/protocol/compile_protocol.h"
#include "cuda/result.h"
#include "device/compile/code_settings.h"
#include "os/spawn.h"

namespace tutti::device {
namespace {

constexpr int kAnswerMs = 10'000;
constexpr int kSocketFd = 3, kFirstFreeFd = 4;  // in the host

// --- in the host

// A request is a process id to end, or 0 for a new worker, accompanied by its descriptors: socket, lifeline, standard
// error. The answer is an errno value or 0, and a process id or an exit status.
class Host {
 public:
  explicit Host(const CodeSettings& settings) : program_(settings.compiler), most_workers_(MostCompilers(settings)) {}

  [[noreturn]] void Run() {
    for (;;) {
      const auto question = os::Receive(kSocketFd);
      if (!question || question->bytes.empty()) _exit(0);
      ByteReader in(question->bytes);
      const auto worker = in.Get<int32_t>();
      const auto answer = !in.ok() ? Answer{EINVAL, 0} : worker == 0 ? Start(question->fds) : End(worker);
      ByteWriter out;
      out.Put(int32_t{answer.error});
      out.Put(int32_t{answer.value});
      if (!os::Send(kSocketFd, out.bytes())) _exit(0);
    }
  }

 private:
  struct Answer {
    int error;
    int value;
  };

  Answer Start(const std::vector<os::Fd>& fds) {
    if (fds.size() != 3) return {EINVAL, 0};
    if (workers_.size() >= most_workers_) return {EAGAIN, 0};
    const auto pid = os::Spawn({.path = program_,
                                .arguments = {"tutti-compiler", "--worker"},
                                .files = {{fds[1].get(), compiler::kCompilerLifelineFd},
                                          {1, 1},
                                          {fds[2].get(), 2},
                                          {fds[0].get(), compiler::kCompilerSocketFd}}});
    if (!pid) return {errno != 0 ? errno : ENOEXEC, 0};
    workers_.push_back(*pid);
    return {0, *pid};
  }

  // Only we reap, so the number is still the worker's.
  Answer End(pid_t worker) {
    const auto found = std::ranges::find(workers_, worker);
    if (found == workers_.end()) return {ESRCH, 0};
    workers_.erase(found);
    kill(worker, SIGKILL);
    int status = 0;
    while (waitpid(worker, &status, 0) < 0 && errno == EINTR) {
    }
    return {0, status};
  }

  const std::string program_;
  const size_t most_workers_;
  std::vector<pid_t> workers_;
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

[[noreturn]] void RunHost(const CodeSettings& settings, int socket) {
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
  Host(settings).Run();
}

}  // namespace

// --- in the server

Result<std::shared_ptr<CompilerHost>> CompilerHost::Start(const CodeSettings& settings) {
  TUTTI_ASSIGN(auto pair, os::SocketPair());
  const pid_t pid = fork();
  if (pid < 0) return FailErrno("starting the process that starts compilers");
  if (pid == 0) RunHost(settings, pair.second.get());
  return std::shared_ptr<CompilerHost>(new CompilerHost(settings.compiler, pid, std::move(pair.first)));
}

CompilerHost::~CompilerHost() {
  // A confined server may signal nobody; its host ends with it.
  if (kill(pid_, SIGKILL) != 0) return;
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<pid_t> CompilerHost::StartCompiler(int socket, int lifeline) {
  const int fds[] = {socket, lifeline, STDERR_FILENO};
  return Ask(0, fds);
}

Result<int> CompilerHost::EndCompiler(pid_t worker) { return Ask(worker, {}); }

Result<int> CompilerHost::Ask(int worker, std::span<const int> fds) {
  const std::lock_guard lock(mutex_);
  const auto gone = [](const std::string& why) {
    return Fail(cuda::CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
                "nothing can be compiled any more by this server, since the process that starts its compilers does not "
                "answer: " +
                    why + ". Programs that run go on; a new server is started when the last of them has ended");
  };
  ByteWriter question;
  question.Put(int32_t{worker});
  if (const auto sent = os::Send(socket_.get(), question.bytes(), fds); !sent) return gone(sent.error().text);
  const auto answer = os::Receive(socket_.get(), kAnswerMs);
  if (!answer || answer->bytes.empty()) {
    // A late answer would be taken for the answer to the next request.
    shutdown(socket_.get(), SHUT_RDWR);
    return gone(answer ? "it has ended" : answer.error().text);
  }
  ByteReader in(answer->bytes);
  const auto error = in.Get<int32_t>();
  const auto value = in.Get<int32_t>();
  if (error == 0) return value;
  errno = error;
  return FailErrno("starting " + program_, cuda::CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
}

}  // namespace tutti::device
