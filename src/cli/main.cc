// tutti: the user's command.
#include <CLI/CLI.hpp>

#include "cli/subcommands.h"

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
  tutti::cli::AddBench(app, status);
  tutti::cli::AddPlan(app, status);
  tutti::cli::AddRecommend(app, status);
  tutti::cli::AddCdi(app, status);
  tutti::cli::AddCompletion(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return status;
}
