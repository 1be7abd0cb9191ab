// `tutti demo`: becomes examples/demo, which stands beside the programs that it runs.
#include <fmt/format.h>
#include <unistd.h>

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

void AddDemo(Command& tutti) {
  struct DemoOptions {
    double seconds = 0.8;
    std::string output = "tutti-demo";
  };
  Command& demo = tutti.AddCommand("demo", "Run six programs on one device: shared, time-sliced, and without a daemon");
  const auto options = std::make_shared<DemoOptions>();
  demo.AddOption("--seconds", &options->seconds, "How long each program takes alone")
      .Check(Between(0.1, 60))
      .ShowDefault();
  demo.AddOption("-o,--output", &options->output, "Directory for timeline.html and trace.json").ShowDefault();
  demo.Do([options] { return Demo(options->seconds, options->output); });
}

}  // namespace tutti::cli
