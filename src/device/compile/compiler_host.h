// The process that starts compilers, so that a server need not be able to start any program: once it is confined
// (server/confinement.h) it can neither fork nor signal another process.
//
// The host is a fork of the server from before it had clients. What it runs was decided then: a server that was taken
// over may ask it for a compiler and for the end of one that it had from it, and for nothing else. It starts so many at
// a time as a server needs, and ends with the server, even if it stands still itself.
//
// If the host ends, nothing more can be compiled: requests fail and say so. What is compiled already goes on. A host
// cannot be replaced, since the server may start nothing; who owns the server ends it when nobody uses it any more, and
// the next client finds a new one (server/main.cc).
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
  // Starts settings.compiler and no other. A program that confines itself calls this before, and before it has threads.
  static Result<std::shared_ptr<CompilerHost>> Start(const CodeSettings& settings);
  // The host ends.
  ~CompilerHost();
  CompilerHost(const CompilerHost&) = delete;
  CompilerHost& operator=(const CompilerHost&) = delete;

  // A worker with these ends of its socket and its lifeline (compiler/protocol/compile_protocol.h).
  Result<pid_t> StartCompiler(int socket, int lifeline);
  // Kills and reaps a worker of this host's. How it ended, as wait() tells it.
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
