#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/installation.h"
#include "cli/subcommands.h"
#include "os/program.h"

namespace tutti::cli {
namespace {

namespace fs = std::filesystem;

std::string BenchDirectory() { return fs::path(os::ProgramDirectory()).parent_path() / "bench"; }

std::string Available() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(BenchDirectory(), error)) {
    if (entry.is_regular_file() && access(entry.path().c_str(), X_OK) == 0) names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names.empty() ? "none: build them with ./dev build in the source tree"
                       : fmt::format("{}", fmt::join(names, ", "));
}

// Becomes the benchmark, which prints its table and writes NAME.json.
int Bench(const std::string& name, const std::string& output) {
  const std::string program = BenchDirectory() + "/" + name;
  if (name.find('/') != std::string::npos || access(program.c_str(), X_OK) != 0) {
    return Complain(fmt::format("no benchmark \"{}\" in {}; there are: {}", name, BenchDirectory(), Available()));
  }
  const auto libraries = LibraryDirectory();
  if (!libraries) return Complain(libraries.error().text);
  setenv("LD_LIBRARY_PATH", libraries->c_str(), 1);
  execl(program.c_str(), program.c_str(), output.c_str(), nullptr);
  return Complain(fmt::format("cannot run {}: {}", program, std::strerror(errno)));
}

}  // namespace

void AddBench(Command& tutti) {
  struct BenchOptions {
    std::string name;
    std::string output = ".";
  };
  Command& bench =
      tutti.AddCommand("bench", "Run a benchmark of the source tree on the daemon of CUDA_MPS_PIPE_DIRECTORY");
  const auto options = std::make_shared<BenchOptions>();
  bench.AddOption("name", &options->name, "launch, sync, share, ...; an unknown name lists those that are built")
      .Required();
  bench.AddOption("-o,--output", &options->output, "Directory for NAME.json").ShowDefault();
  bench.Do([options] { return Bench(options->name, options->output); });
}

}  // namespace tutti::cli
