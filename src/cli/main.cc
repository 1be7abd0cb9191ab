// tutti: the user's command.
#include <algorithm>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "cli/subcommands.h"

using namespace tutti::cli;
using tutti::Nearest;

namespace {

// A suggestion for a first word that is no subcommand; "" if it is one, or an option.
std::string WhyNoSubcommand(const Command& tutti, const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : tutti.commands()) names.push_back(command.name());
  if (word.starts_with('-') || std::find(names.begin(), names.end(), word) != names.end()) return "";
  const std::string nearest = Nearest(word, names);
  return "there is no subcommand " + word + (nearest.empty() ? "" : ": did you mean " + nearest + "?") +
         " (tutti --help lists them)";
}

}  // namespace

int main(int argc, char** argv) {
  Command tutti("tutti", "Tutti: many CUDA programs on one device. The daemon is tutti-control.");
  tutti.Version("tutti " TUTTI_VERSION);
  tutti.RequireCommand();
  tutti.HelpColumn(28);
  AddRun(tutti);
  AddPs(tutti);
  AddTop(tutti);
  AddLimit(tutti);
  AddPolicy(tutti);
  AddStatus(tutti);
  AddDevice(tutti);
  AddFaults(tutti);
  AddTrace(tutti);
  AddTimeline(tutti);
  AddDoctor(tutti);
  AddDemo(tutti);
  AddBench(tutti);
  AddCache(tutti);
  AddPlan(tutti);
  AddRecommend(tutti);
  AddCdi(tutti);
  AddCompletion(tutti);
  tutti.OnMistake([](const std::string& command, const std::string& problem) {
    return command + ": " + problem + " (" + command + " --help says more)\n";
  });
  if (const std::string why = argc > 1 ? WhyNoSubcommand(tutti, argv[1]) : ""; !why.empty()) {
    Complain(why);
    return 2;
  }
  if (const auto status = tutti.Parse(argc, argv)) return *status == 0 ? 0 : 2;
  return tutti.Run();
}
