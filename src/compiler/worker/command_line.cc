#include "compiler/worker/command_line.h"

#include <CLI/CLI.hpp>
#include <map>

namespace tutti::compiler {
namespace {

const std::map<std::string, Stage> kStages = {
    {"ir", Stage::kScalarIr},  {"widened", Stage::kWideIr}, {"opt-ir", Stage::kOptimizedIr},
    {"asm", Stage::kAssembly}, {"obj", Stage::kObject},     {"so", Stage::kSharedObject},
};

// "16,16,1", "256" -> extents; missing ones are 1.
std::string ParseBlock(const std::string& text, std::array<uint32_t, 3>& block) {
  block = {1, 1, 1};
  std::vector<std::string> parts = CLI::detail::split(text, ',');
  if (parts.empty() || parts.size() > 3) return "a block has one to three extents, like 16,16,1";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!CLI::detail::lexical_cast(parts[i], block[i]) || block[i] == 0 || block[i] > 1024)
      return "no block extent: " + parts[i];
  }
  if (block[0] * block[1] * block[2] > 1024) return "a block has at most 1024 threads";
  return {};
}

}  // namespace

CommandLineResult ParseCommandLine(int count, char** arguments) {
  CommandLine line;
  CLI::App app{
      "Compiles PTX for the processor it runs on.\n"
      "With an input alone it lists the module's kernels and variables. The server runs it with --worker.",
      "tutti-compiler"};
  app.set_version_flag("--version", "tutti-compiler " TUTTI_VERSION);
  std::string emit, block;
  app.add_option("input", line.input, "PTX text or a fatbin; - reads standard input")->type_name("FILE");
  app.add_option("--emit", emit,
                 "What to make: index (what the device keeps of the module), fenced-ptx (the module with its accesses "
                 "checked, for a GPU), ir (one thread), widened (one warp), "
                 "opt-ir, asm, obj, so")
      ->type_name("STAGE")
      ->check(CLI::IsMember({"index", "fenced-ptx", "ir", "widened", "opt-ir", "asm", "obj", "so"}));
  app.add_option("--kernel,-k", line.kernel, "The kernel to compile; optional if there is only one")->type_name("NAME");
  app.add_option("--block,-b", block, "Compile for this block shape; without it for any, which is slower")
      ->type_name("X[,Y[,Z]]");
  app.add_option("--capability", line.capability,
                 "Of several PTX texts the one that a device of this compute capability runs (80 for 8.0); without it "
                 "the newest")
      ->type_name("NUMBER");
  app.add_option("-O", line.optimize, "Optimisation level")->check(CLI::Range(0, 3))->capture_default_str();
  app.add_option("-o,--output", line.output, "Where to write; text goes to standard output without it")
      ->type_name("FILE");
  app.add_option("--cpu", line.cpu, "Compile for this processor (x86-64-v3, znver4, ...) instead of this machine's");
  app.add_flag("-v,--verbose,--time-passes", line.verbose, "Print how long each phase took, on standard error");
  app.add_flag("--worker", line.worker, "Serve compile requests on descriptor 3, in a sandbox");
  app.add_flag("--cache-key", line.cache_key, "Print what the generated code depends on besides its input");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    return {line, status == 0 ? 0 : 2};
  }
  const auto complain = [&](const std::string& text) {
    std::cerr << "tutti-compiler: " << text << "\n";
    return CommandLineResult{line, 2};
  };
  if (!block.empty()) {
    if (const std::string problem = ParseBlock(block, line.block); !problem.empty())
      return complain("--block: " + problem);
  }
  if (!line.worker && !line.cache_key && line.input.empty()) return complain("no input (--help tells more)");
  line.index = emit == "index";
  line.fenced_ptx = emit == "fenced-ptx";
  if (!emit.empty() && !line.index && !line.fenced_ptx) line.stage = kStages.at(emit);
  if (!line.output.empty() && emit.empty()) line.stage = Stage::kSharedObject;
  if (!line.kernel.empty() && emit.empty() && !line.stage) line.stage = Stage::kSharedObject;
  return {line, std::nullopt};
}

}  // namespace tutti::compiler
