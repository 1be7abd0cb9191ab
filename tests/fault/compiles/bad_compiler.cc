// Replaces tutti-compiler (TUTTI_COMPILER): forwards requests to the real one in ../bin beside itself, except for
// images with one of these comments:
//
//   bad compiler: crash      crashes
//   bad compiler: hang       takes the request and never answers
//   bad compiler: exhaust    forwards the request to the real one, which gets no more memory
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "compiler/protocol/compile_protocol.h"
#include "os/filled_memory.h"
#include "os/memory.h"
#include "os/socket.h"

namespace {

using namespace tutti;

std::string TextOf(int image) {
  std::string text(static_cast<size_t>(std::max<off_t>(lseek(image, 0, SEEK_END), 0)), '\0');
  return pread(image, text.data(), text.size(), 0) < 0 ? "" : text;
}

bool Says(const std::string& text, const char* what) {
  return text.find(std::string("bad compiler: ") + what) != text.npos;
}

// The real one, at the other end of this socket; it ends with us.
pid_t StartReal(os::Fd* socket) {
  auto pair = os::SocketPair();
  if (!pair) _exit(9);
  const std::string path =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/tutti-compiler";
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(pair->second.get(), compiler::kCompilerSocketFd);
    execl(path.c_str(), "tutti-compiler", "--worker", nullptr);
    _exit(127);
  }
  *socket = std::move(pair->first);
  return pid;
}

Result<os::Message> Ask(const os::Fd& real, std::span<const uint8_t> request, const os::Fd& image,
                        const os::Fd& result) {
  const int fds[] = {image.get(), result.get()};
  TUTTI_TRY(os::Send(real.get(), request, fds));
  return os::Receive(real.get());
}

// Limits it to the address space that it has after its start.
void Exhaust(const os::Fd& real, pid_t pid) {
  const auto nothing = os::CreateMemory("nothing", 1), result = os::CreateMemoryToFill("result");
  (void)Ask(real, compiler::Serialize(compiler::CompileRequest{.op = compiler::CompileOp::kIndex}), *nothing, *result);
  unsigned long pages = 0;
  std::ifstream("/proc/" + std::to_string(pid) + "/statm") >> pages;
  rlimit limit{};
  prlimit(pid, RLIMIT_AS, nullptr, &limit);
  limit.rlim_cur = pages * 4096;
  prlimit(pid, RLIMIT_AS, &limit, nullptr);
}

}  // namespace

int main() {
  os::Fd real;
  const pid_t pid = StartReal(&real);
  while (true) {
    const auto request = os::Receive(compiler::kCompilerSocketFd);
    if (!request || request->bytes.empty() || request->fds.size() != 2) return 0;
    const std::string text = TextOf(request->fds[0].get());
    if (Says(text, "crash")) std::abort();
    if (Says(text, "hang")) pause();
    if (Says(text, "exhaust")) Exhaust(real, pid);
    const auto answer = Ask(real, request->bytes, request->fds[0], request->fds[1]);
    if (!answer || answer->bytes.empty()) return 1;
    if (!os::Send(compiler::kCompilerSocketFd, answer->bytes)) return 1;
  }
}
