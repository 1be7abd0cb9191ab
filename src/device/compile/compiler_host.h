// The process that starts compilers. With it a server need not be able to start programs: once confined
// (server/confinement.h) it can neither fork nor signal another process.
//
// The host is forked from the server before that has clients, and what it runs is fixed then: a server that was taken
// over can make it start a compiler, or end one that it started, and nothing else. It bounds the number of compilers,
// and ends with the server, even if it is stopped itself.
//
// If the host ends, nothing more can be compiled: requests fail with that reason, and compiled kernels keep running. A
// host cannot be replaced, since the server may start nothing; the server's owner ends it once it is unused, and the
// next client gets a new one (server/main.cc).
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/error.h"
#include "os/fd.h"
#include "os/socket.h"

namespace tutti::device {

struct CodeSettings;

// Thread-safe; calls wait for the host, a few milliseconds.
class CompilerHost {
 public:
  // Starts settings.compiler and no other program. Call it before confinement, and before there are threads.
  static Result<std::shared_ptr<CompilerHost>> Start(const CodeSettings& settings);
  // Ends the host.
  ~CompilerHost();
  CompilerHost(const CompilerHost&) = delete;
  CompilerHost& operator=(const CompilerHost&) = delete;

  // Starts a worker with these ends of its socket and its lifeline (compiler/protocol/compile_protocol.h).
  Result<pid_t> StartCompiler(int socket, int lifeline);
  // Kills and reaps a worker of this host. Returns its wait status.
  Result<int> EndCompiler(pid_t worker);

  // Hangs up when the host has ended.
  int fd() const { return socket_.get(); }
  pid_t pid() const { return pid_; }

 private:
  CompilerHost(std::string program, pid_t pid, os::Fd socket)
      : program_(std::move(program)), pid_(pid), socket_(std::move(socket)) {}
  Result<int> Ask(int worker, std::span<const int> fds);

  const std::string program_;
  const pid_t pid_;
  const os::Fd socket_;
  std::mutex mutex_;  // one question at a time
};

}  // namespace tutti::device
