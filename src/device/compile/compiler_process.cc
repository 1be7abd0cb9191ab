#include "device/compile/compiler_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "cuda/result.h"
#include "os/filled_memory.h"
#include "os/lifeline.h"
#include "os/socket.h"

namespace tutti::device {
namespace {

constexpr uint64_t kMaxResultBytes = 512ull << 20;
constexpr uint64_t kNsPerMs = 1'000'000;

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace

Result<std::unique_ptr<CompilerProcess>> CompilerProcess::Start(std::shared_ptr<CompilerHost> host) {
  TUTTI_ASSIGN(auto pair, os::SocketPair());
  TUTTI_ASSIGN(os::Lifeline lifeline, os::CreateLifeline());
  TUTTI_ASSIGN(const pid_t pid, host->StartCompiler(pair.second.get(), lifeline.watched.get()));
  return std::unique_ptr<CompilerProcess>(
      new CompilerProcess(std::move(host), pid, std::move(pair.first), std::move(lifeline.held)));
}

CompilerProcess::~CompilerProcess() {
  if (pid_ == 0) return;
  socket_.Reset();
  End();
}

std::string CompilerProcess::End() {
  // A worker has nothing to clean up.
  lifeline_.Reset();
  const auto status = host_->EndCompiler(pid_);
  pid_ = 0;
  return status ? HowItEnded(*status) : "has gone";
}

bool CompilerProcess::AwaitAnswer(uint64_t until_ns, const Cancelled& cancelled) const {
  constexpr uint64_t kLookNs = 10 * kNsPerMs;
  pollfd answer{socket_.get(), POLLIN, 0};
  for (uint64_t now_ns = NowNs(); now_ns < until_ns; now_ns = NowNs()) {
    const uint64_t wait_ns = std::min(kLookNs, until_ns - now_ns);
    if (poll(&answer, 1, static_cast<int>((wait_ns + kNsPerMs - 1) / kNsPerMs)) > 0) return true;
    if (cancelled.load(std::memory_order_relaxed)) return false;
  }
  return false;
}

Result<CompilerProcess::Answer> CompilerProcess::Ask(const compiler::CompileRequest& request, int image,
                                                     uint64_t limit_ns, const Cancelled& cancelled, bool* was_gone) {
  *was_gone = false;
  TUTTI_ASSIGN(result_, os::CreateMemoryToFill("tutti-compiled"));
  const int fds[] = {image, result_.get()};
  if (const auto sent = os::Send(socket_.get(), compiler::Serialize(request), fds); !sent) {
    *was_gone = true;
    return Fail(cuda::CUDA_ERROR_UNKNOWN, "the compiler is gone: " + sent.error().text);
  }
  asked_ns_ = NowNs();
  limit_ns_ = limit_ns;
  return Finish(cancelled);
}

Result<CompilerProcess::Answer> CompilerProcess::Finish(const Cancelled& cancelled) {
  if (!AwaitAnswer(asked_ns_ + limit_ns_, cancelled)) {
    if (cancelled.load(std::memory_order_relaxed))
      return Fail(cuda::CUDA_ERROR_MPS_CLIENT_TERMINATED, "nobody waits for it");
    End();
    return Fail(cuda::CUDA_ERROR_UNKNOWN,
                fmt::format("the compiler was stopped after {:g} s", static_cast<double>(limit_ns_) / 1e9));
  }
  const os::Fd result = std::move(result_);
  const auto message = os::Receive(socket_.get(), 0);
  if (!message || message->bytes.empty()) {
    // It has ended, or is about to with a status that the kernel knew before it closed the socket.
    return Fail(cuda::CUDA_ERROR_UNKNOWN, fmt::format("the compiler {} while it worked on this", End()));
  }
  TUTTI_ASSIGN(const compiler::CompileReply reply, compiler::ParseCompileReply(message->bytes));
  Answer answer{.status = reply.status, .log = reply.log, .bytes = {}, .is_quick = reply.is_quick};
  if (reply.status == 0) {
    TUTTI_ASSIGN(answer.bytes, os::ReadFilledMemory(result.get(), kMaxResultBytes));
  }
  return answer;
}

}  // namespace tutti::device
