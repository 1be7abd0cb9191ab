// `tutti demo`: becomes examples/demo, which stands beside the programs that it runs.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/installation.h"
#include "cli/subcommands.h"
#include "cli/values.h"
#include "os/program.h"

namespace tutti::cli {
namespace {

int Demo(double seconds, const std::string& output) {
  const std::string script = std::filesystem::path(os::ProgramDirectory()).parent_path() / "examples" / "demo";
  const std::string each = fmt::format("{}", seconds);
  execl(script.c_str(), script.c_str(), "--seconds", each.c_str(), "--output", output.c_str(), nullptr);
  return Complain(fmt::format("cannot run {}: {}", script, std::strerror(errno)));
}

}  // namespace

void AddDemo(CLI::App& app, int& status) {
  struct DemoOptions {
    double seconds = 0.8;
    std::string output = "tutti-demo";
  };
  auto* const command =
      app.add_subcommand("demo", "Run six programs on one device: shared, time-sliced, and without a daemon");
  const auto options = std::make_shared<DemoOptions>();
  command->add_option("--seconds", options->seconds, "How long each program takes alone")
      ->check(Between(0.1, 60))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "Directory for timeline.html and trace.json")
      ->capture_default_str();
  command->callback([options, &status] { status = Demo(options->seconds, options->output); });
}

}  // namespace tutti::cli
