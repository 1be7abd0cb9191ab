// tutti-device-plugin: allocates shares of this node's devices to the kubelet's containers.
#include <cstdio>

#include "base/log.h"
#include "kubernetes/check.h"
#include "kubernetes/options.h"
#include "kubernetes/run_daemon.h"
#include "kubernetes/supervisor.h"

int main(int argc, char** argv) {
  using namespace tutti;
  const auto options = kubernetes::ParseOptions(argc, argv);
  if (!options) return options.error();
  if (options->check_only) return kubernetes::CheckConfiguration(*options);
  // A container's log is its stderr.
  log::Open("", "Plugin");
  if (options->run_daemon) {
    std::fprintf(stderr, "tutti-device-plugin: %s\n", kubernetes::RunDaemon(*options).text.c_str());
    return 1;
  }
  if (const Status status = kubernetes::Supervise(*options); !status) {
    std::fprintf(stderr, "tutti-device-plugin: %s\n", status.error().text.c_str());
    return 1;
  }
  return 0;
}
