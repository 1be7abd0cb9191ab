// tutti-fence: makes PTX check its own addresses, in a process of its own. A server whose GPU clients share a context
// starts it as a sandboxed worker; people use it to look at what it makes. It needs no LLVM, so hosts of GPUs do not.
//
// Exit status: 0 done; 1 the input cannot be fenced; 2 wrong usage, or a file that cannot be read or written.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "command_line/command_line.h"
#include "command_line/files.h"
#include "compiler/fence/fence.h"
#include "compiler/fencer/fencer.h"
#include "compiler/input/read_module.h"
#include "compiler/protocol/compile_protocol.h"
#include "compiler/serving/requests.h"
#include "compiler/serving/sandbox.h"
#include "os/lifeline.h"

namespace tutti::compiler {
namespace {

constexpr int kCannotFence = 1, kUsage = 2;

int Complain(int status, const std::string& text) {
  fmt::print(stderr, "tutti-fence: {}\n", text);
  return status;
}

int RunWorker() {
  os::EndWith(kCompilerLifelineFd);
  if (const auto shut = EnterSandbox(kCompilerSocketFd, kCompilerLifelineFd, {}); !shut)
    return Complain(kCannotFence, shut.error().text);
  return ServeRequests(kCompilerSocketFd, Fence) ? 0 : kCannotFence;
}

struct CommandLine {
  std::string input, output;
  uint32_t capability = 0;
  bool own_context = false, worker = false;
};

int Run(const CommandLine& line) {
  const auto input = command_line::ReadInput(line.input);
  if (!input) return Complain(kUsage, input.error().text);
  auto module = ReadModule(*input, line.capability);
  if (!module) return Complain(kCannotFence, line.input + ": " + module.error().text);
  const auto fenced = FencePtx(std::move(*module), line.own_context ? FenceOptions{} : kSharedContext);
  if (!fenced) return Complain(kCannotFence, line.input + ": " + fenced.error().text);
  for (const auto& [function, why] : fenced->refused)
    fmt::print(stderr, "tutti-fence: {} is left out: {}\n", function, why);
  const auto* const text = reinterpret_cast<const uint8_t*>(fenced->ptx.data());
  const auto written = command_line::WriteOutput(line.output, {text, fenced->ptx.size()});
  return written ? 0 : Complain(kUsage, written.error().text);
}

}  // namespace
}  // namespace tutti::compiler

int main(int count, char** arguments) {
  namespace compiler = tutti::compiler;
  compiler::CommandLine line;
  tutti::command_line::Command options(
      "tutti-fence",
      "Makes PTX check its own addresses, for a GPU's context that several programs share.\n"
      "Prints the text; on standard error, which functions cannot be fenced, and why. The server runs it with "
      "--worker.");
  options.Version("tutti-fence " TUTTI_VERSION);
  options.AddOption("input", &line.input, "PTX text or a fatbin; - reads standard input").Placeholder("FILE");
  options.AddOption("-o,--output", &line.output, "Where to write, instead of standard output").Placeholder("FILE");
  options
      .AddOption("--capability", &line.capability,
                 "Of several PTX texts the one that a device of this compute capability runs (80 for 8.0); without it "
                 "the newest")
      .Placeholder("NUMBER");
  options.AddFlag("--own-context", &line.own_context,
                  "For a context that nobody shares: printf, recursion and calls by address stay as they are");
  options.AddFlag("--worker", &line.worker, "Serve requests on descriptor 3, in a sandbox");
  if (const auto status = options.Parse(count, arguments)) return *status == 0 ? 0 : compiler::kUsage;
  if (line.worker) return compiler::RunWorker();
  if (line.input.empty()) return compiler::Complain(compiler::kUsage, "no input (--help tells more)");
  return compiler::Run(line);
}
