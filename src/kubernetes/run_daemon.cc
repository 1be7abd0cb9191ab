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
  // The container's next start is a fresh one: its settings are those of its environment and of the plugin.
  execl(program.c_str(), "nvidia-cuda-mps-control", "-f", "--servers-die",
        config->extension.multi_user_server ? "-M" : nullptr, nullptr);
  return FailErrno("cannot run " + program + " (--control-program)").error();
}

}  // namespace tutti::kubernetes
