#include "device/compile/compiler_host.h"

#include <unistd.h>

#include <cerrno>

#include "compiler/protocol/compile_protocol.h"
#include "cuda/result.h"
#include "device/compile/code_settings.h"

namespace tutti::device {

os::Spawner::Program CompilerHost::ProgramOf(const CodeSettings& settings) {
  return {.path = settings.compiler,
          .arguments = {settings.compiler.substr(settings.compiler.rfind('/') + 1), "--worker"},
          .environment = {},
          .files = {compiler::kCompilerSocketFd, compiler::kCompilerLifelineFd, STDERR_FILENO},
          .most = MostCompilers(settings)};
}

Result<std::shared_ptr<CompilerHost>> CompilerHost::Start(const CodeSettings& settings) {
  TUTTI_ASSIGN(auto spawner, os::Spawner::Start({ProgramOf(settings)}));
  return std::make_shared<CompilerHost>(settings.compiler, std::move(spawner));
}

Result<pid_t> CompilerHost::StartCompiler(int socket, int lifeline) {
  const int fds[] = {socket, lifeline, STDERR_FILENO};
  const auto started = spawner_->StartProgram(number_, fds);
  if (started) return *started;
  return Explained(started.error());
}

Result<int> CompilerHost::EndCompiler(pid_t worker) {
  const auto ended = spawner_->End(worker);
  if (ended) return *ended;
  return Explained(ended.error());
}

std::unexpected<Error> CompilerHost::Explained(const Error& error) const {
  if (!spawner_->lost()) return FailErrno("starting " + program_, cuda::CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
  return Fail(cuda::CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
              "nothing can be compiled any more by this server, since the process that starts its compilers does not "
              "answer: " +
                  error.text + ". Programs that run go on; a new server is started when the last of them has ended");
}

}  // namespace tutti::device
