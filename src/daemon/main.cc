// tutti-control, also known as nvidia-cuda-mps-control: control daemon and its shell in one program.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "control/places.h"
#include "control/version.h"
#include "daemon/options.h"
#include "daemon/shell/shell.h"
#include "daemon/start.h"

namespace {

// Partitioning implies its own policy unless another one is given.
tutti::daemon::DaemonOptions Start(const tutti::daemon::Options& options, tutti::control::Places places) {
  const char* const standard = options.static_partitioning ? "partition" : "share";
  return {.places = std::move(places),
          .multi_user = options.multi_user,
          .protocol = options.protocol,
          .static_partitioning = options.static_partitioning,
          .new_clients_only = options.new_clients_only,
          .fresh = options.fresh,
          .servers_die = options.servers_die,
          .policy = options.policy.empty() ? standard : options.policy,
          .configuration = options.configuration};
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tutti;
  const char* const protocol = std::getenv("CUDA_MPS_PROTOCOL_VERSION");
  const auto options =
      daemon::ParseOptions(std::vector<std::string>(argv + 1, argv + argc), protocol != nullptr ? protocol : "");
  if (!options) {
    std::fprintf(stderr, "%s\n", options.error().text.c_str());
    return 1;
  }
  const control::Places places = control::PlacesFromEnvironment();
  const auto starts = [&options] { return Start(*options, control::PlacesForDaemon(options->protocol)); };
  switch (options->mode) {
    case daemon::Mode::kHelp: std::fputs(daemon::kHelpText, stdout); return 0;
    case daemon::Mode::kVersion: std::printf("%d\n", control::kBinaryVersion); return 0;
    case daemon::Mode::kBackground: return daemon::StartInBackground(starts());
    case daemon::Mode::kForeground: return daemon::RunInForeground(starts());
    case daemon::Mode::kCommand: return daemon::RunOneCommand(places, options->command);
    case daemon::Mode::kShell: return daemon::RunShell(places);
  }
}
