#include "kubernetes/run_daemon.h"

#include <unistd.h>

#include "kubernetes/node_directories.h"

namespace tutti::kubernetes {

Error RunDaemon(const Options& options) {
  auto config = LoadConfig(options);
  if (!config) return config.error();
  if (config->flags.mps_root.empty()) config->flags.mps_root = kDefaultRoot;
  if (const auto places = PrepareDirectories(*config); !places) return places.error();
  const std::string program = ControlProgram(options);
  execl(program.c_str(), "nvidia-cuda-mps-control", "-f", config->extension.multi_user_server ? "-M" : nullptr,
        nullptr);
  return FailErrno("cannot run " + program + " (--control-program)").error();
}

}  // namespace tutti::kubernetes
