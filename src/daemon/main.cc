// tutti-control, also known as nvidia-cuda-mps-control: control daemon and its shell in one program.
#include <cstdio>
#include <string>
#include <vector>

#include "control/places.h"
#include "control/version.h"
#include "daemon/options.h"
#include "daemon/shell.h"
#include "daemon/start.h"

int main(int argc, char** argv) {
  using namespace tutti;
  const auto options = daemon::ParseOptions(std::vector<std::string>(argv + 1, argv + argc));
  if (!options) {
    std::fprintf(stderr, "%s\n", options.error().text.c_str());
    return 1;
  }
  const control::Places places = control::PlacesFromEnvironment();
  switch (options->mode) {
    case daemon::Mode::kHelp: std::fputs(daemon::kHelpText, stdout); return 0;
    case daemon::Mode::kVersion: std::printf("%d\n", control::kBinaryVersion); return 0;
    case daemon::Mode::kBackground: return daemon::StartInBackground({places, options->multi_user});
    case daemon::Mode::kForeground: return daemon::RunInForeground({places, options->multi_user});
    case daemon::Mode::kCommand: return daemon::RunOneCommand(places, options->command);
    case daemon::Mode::kShell: return daemon::RunShell(places);
  }
}
