// tutti: the user's command.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "cli/subcommands.h"

namespace {

// A suggestion for a first word that is no subcommand; "" if it is one, or an option.
std::string WhyNoSubcommand(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* subcommand : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(subcommand->get_name());
  if (word.starts_with('-') || std::find(names.begin(), names.end(), word) != names.end()) return "";
  const std::string nearest = tutti::Nearest(word, names);
  return "there is no subcommand " + word + (nearest.empty() ? "" : ": did you mean " + nearest + "?") +
         " (tutti --help lists them)";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tutti: many CUDA programs on one device. The daemon is tutti-control.", "tutti");
  app.set_version_flag("--version", "tutti " TUTTI_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(28);
  int status = 0;
  tutti::cli::AddRun(app, status);
  tutti::cli::AddPs(app, status);
  tutti::cli::AddTop(app, status);
  tutti::cli::AddLimit(app, status);
  tutti::cli::AddPolicy(app, status);
  tutti::cli::AddStatus(app, status);
  tutti::cli::AddDevice(app, status);
  tutti::cli::AddFaults(app, status);
  tutti::cli::AddTrace(app, status);
  tutti::cli::AddTimeline(app, status);
  tutti::cli::AddDoctor(app, status);
  tutti::cli::AddDemo(app, status);
  tutti::cli::AddBench(app, status);
  tutti::cli::AddPlan(app, status);
  tutti::cli::AddRecommend(app, status);
  tutti::cli::AddCdi(app, status);
  tutti::cli::AddCompletion(app, status);
  app.failure_message([](const CLI::App* parsed, const CLI::Error& error) {
    std::string command = "tutti";
    for (auto chosen = parsed->get_subcommands(); !chosen.empty(); chosen = chosen.front()->get_subcommands()) {
      command += " " + chosen.front()->get_name();
    }
    return command + ": " + error.what() + " (" + command + " --help says more)\n";
  });
  if (const std::string why = argc > 1 ? WhyNoSubcommand(app, argv[1]) : ""; !why.empty()) {
    tutti::cli::Complain(why);
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return status;
}
