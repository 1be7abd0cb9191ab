// One tutti-compiler worker process; ends with this object.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/protocol/compile_protocol.h"
#include "device/compile/code_source.h"
#include "device/compile/compiler_host.h"
#include "os/fd.h"

namespace tutti::device {

// Of one thread at a time.
class CompilerProcess {
 public:
  // Error: CUDA_ERROR_JIT_COMPILER_NOT_FOUND.
  static Result<std::unique_ptr<CompilerProcess>> Start(std::shared_ptr<CompilerHost> host);
  // Closes the socket, upon which the worker ends; one that does not is killed.
  ~CompilerProcess();
  CompilerProcess(const CompilerProcess&) = delete;
  CompilerProcess& operator=(const CompilerProcess&) = delete;

  struct Answer {
    int32_t status = 0;  // of the request, as the worker says
    std::string log;
    std::vector<uint8_t> bytes;  // if status == 0
    bool is_quick = false;  // compiler::CompileReply's
  };
  // Sends a request and waits. An error means that the worker is unusable: it died, was killed for taking too long, or
  // violated the protocol. `was_gone` is set if it had ended before it could have seen the request. A worker whose
  // request was cancelled works on, since nothing makes a compiler stop: Finish waits for it again, and destroying this
  // object kills it.
  Result<Answer> Ask(const compiler::CompileRequest& request, int image, uint64_t limit_ns, const Cancelled& cancelled,
                     bool* was_gone);
  // The answer to the request that Ask was cancelled in, within the same limit.
  Result<Answer> Finish(const Cancelled& cancelled);
  uint64_t asked_ns() const { return asked_ns_; }  // when Ask was called

  pid_t pid() const { return pid_; }

 private:
  CompilerProcess(std::shared_ptr<CompilerHost> host, pid_t pid, os::Fd socket, os::Fd lifeline)
      : host_(std::move(host)), pid_(pid), socket_(std::move(socket)), lifeline_(std::move(lifeline)) {}
  // False: cancelled, or nothing came in time.
  bool AwaitAnswer(uint64_t until_ns, const Cancelled& cancelled) const;
  // Kills and reaps. Returns how it ended, for people.
  std::string End();

  const std::shared_ptr<CompilerHost> host_;
  pid_t pid_;  // 0: reaped
  uint64_t asked_ns_ = 0, limit_ns_ = 0;
  os::Fd socket_;
  os::Fd result_;  // of the request that is not answered yet: the worker writes it
  os::Fd lifeline_;  // the worker ends with this process, however that ends, and without the host if that is gone
};

}  // namespace tutti::device
