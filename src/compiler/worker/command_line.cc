#include "compiler/worker/command_line.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <vector>

#include "command_line/command_line.h"

namespace tutti::compiler {
namespace {

const std::map<std::string, Stage> kStages = {
    {"ir", Stage::kScalarIr},  {"widened", Stage::kWideIr}, {"opt-ir", Stage::kOptimizedIr},
    {"asm", Stage::kAssembly}, {"obj", Stage::kObject},     {"so", Stage::kSharedObject},
};

// One extent of a block; hexadecimal and octal as in all other options.
bool ParseExtent(const std::string& text, uint32_t& extent) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text.c_str(), &end, 0);
  extent = static_cast<uint32_t>(value);
  return end == text.c_str() + text.size() && value > 0 && value <= 1024;
}

// "16,16,1", "256" -> extents; missing ones are 1.
std::string ParseBlock(const std::string& text, std::array<uint32_t, 3>& block) {
  block = {1, 1, 1};
  std::vector<std::string> parts;
  std::istringstream list(text);
  for (std::string part; std::getline(list, part, ',');) parts.push_back(part);
  if (parts.empty() || parts.size() > 3) return "a block has one to three extents, like 16,16,1";
  for (size_t i = 0; i < parts.size(); ++i)
    if (!ParseExtent(parts[i], block[i])) return "no block extent: " + parts[i];
  if (block[0] * block[1] * block[2] > 1024) return "a block has at most 1024 threads";
  return {};
}

}  // namespace

CommandLineResult ParseCommandLine(int count, char** arguments) {
  CommandLine line;
  command_line::Command options(
      "tutti-compiler",
      "Compiles PTX for the processor it runs on.\n"
      "With an input alone it lists the module's kernels and variables. The server runs it with --worker.");
  options.Version("tutti-compiler " TUTTI_VERSION);
  std::string emit, block;
  options.AddOption("input", &line.input, "PTX text or a fatbin; - reads standard input").Placeholder("FILE");
  options
      .AddOption("--emit", &emit,
                 "What to make: index (what the device keeps of the module), ir (one thread), widened (one warp), "
                 "opt-ir, asm, "
                 "obj, so")
      .Placeholder("STAGE")
      .Check(command_line::OneOf({"index", "ir", "widened", "opt-ir", "asm", "obj", "so"}));
  options.AddOption("--kernel,-k", &line.kernel, "The kernel to compile; optional if there is only one")
      .Placeholder("NAME");
  options.AddOption("--block,-b", &block, "Compile for this block shape; without it for any, which is slower")
      .Placeholder("X[,Y[,Z]]");
  options
      .AddOption("--capability", &line.capability,
                 "Of several PTX texts the one that a device of this compute capability runs (80 for 8.0); without it "
                 "the newest")
      .Placeholder("NUMBER");
  options.AddOption("-O", &line.optimize, "Optimisation level").Check(command_line::Range(0, 3)).ShowDefault();
  options.AddOption("-o,--output", &line.output, "Where to write; text goes to standard output without it")
      .Placeholder("FILE");
  options.AddOption("--cpu", &line.cpu,
                    "Compile for this processor (x86-64-v3, znver4, ...) instead of this machine's");
  options.AddFlag("--quick", &line.quick, "Make what a first launch runs until the optimised code is there");
  options.AddFlag("-v,--verbose,--time-passes", &line.verbose, "Print how long each phase took, on standard error");
  options.AddFlag("--worker", &line.worker, "Serve compile requests on descriptor 3, in a sandbox");
  options.AddFlag("--cache-key", &line.cache_key, "Print what the generated code depends on besides its input");
  if (const auto status = options.Parse(count, arguments)) return {line, *status == 0 ? 0 : 2};
  const auto complain = [&](const std::string& text) {
    std::fprintf(stderr, "tutti-compiler: %s\n", text.c_str());
    return CommandLineResult{line, 2};
  };
  if (!block.empty()) {
    if (const std::string problem = ParseBlock(block, line.block); !problem.empty())
      return complain("--block: " + problem);
  }
  if (!line.worker && !line.cache_key && line.input.empty()) return complain("no input (--help tells more)");
  line.index = emit == "index";
  if (!emit.empty() && !line.index) line.stage = kStages.at(emit);
  if (!line.output.empty() && emit.empty()) line.stage = Stage::kSharedObject;
  if (!line.kernel.empty() && emit.empty() && !line.stage) line.stage = Stage::kSharedObject;
  return {line, std::nullopt};
}

}  // namespace tutti::compiler
