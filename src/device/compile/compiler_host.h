// Starts compilers, by the process that starts programs for the server (os/spawner.h).
//
// If that process ends, nothing more can be compiled: requests fail with that reason; compiled kernels keep running.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "os/spawner.h"

namespace tutti::device {

struct CodeSettings;

// Thread-safe; calls wait for the spawner, a few milliseconds.
class CompilerHost {
 public:
  // What a spawner must be given, as the program of a `number`.
  static os::Spawner::Program ProgramOf(const CodeSettings& settings);
  CompilerHost(std::string program, std::shared_ptr<os::Spawner> spawner, uint32_t number = 0)
      : program_(std::move(program)), spawner_(std::move(spawner)), number_(number) {}
  // With a spawner of its own, which starts settings.compiler and no other program.
  static Result<std::shared_ptr<CompilerHost>> Start(const CodeSettings& settings);

  // Starts a worker with these ends of its socket and its lifeline (compiler/protocol/compile_protocol.h).
  Result<pid_t> StartCompiler(int socket, int lifeline);
  // Kills and reaps a worker of this host. Returns its wait status.
  Result<int> EndCompiler(pid_t worker);

  // Of the spawner.
  int fd() const { return spawner_->fd(); }
  pid_t pid() const { return spawner_->pid(); }

 private:
  std::unexpected<Error> Explained(const Error& error) const;

  const std::string program_;
  const std::shared_ptr<os::Spawner> spawner_;
  const uint32_t number_;
};

}  // namespace tutti::device
