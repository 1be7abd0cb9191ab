// tutti-compiler: the compiler in a process of its own. The server starts it as a sandboxed worker; people use it to
// look at a kernel after each stage.
//
// Exit status: 0 done; 1 the input cannot be compiled; 2 wrong usage or an unreadable file.
#include <fmt/format.h>

#include <cstdio>

#include "base/log.h"
#include "command_line/files.h"
#include "compiler/link/host_target.h"
#include "compiler/pipeline.h"
#include "compiler/protocol/compile_protocol.h"
#include "compiler/serving/sandbox.h"
#include "compiler/worker/command_line.h"
#include "compiler/worker/service.h"
#include "guest/cpu/kernel_abi.h"
#include "os/lifeline.h"

namespace tutti::compiler {
namespace {

constexpr int kCannotCompile = 1, kUsage = 2;

int Complain(int status, const std::string& text) {
  fmt::print(stderr, "tutti-compiler: {}\n", text);
  return status;
}

int RunWorker() {
  os::EndWith(kCompilerLifelineFd);
  Service service(HostTarget::Detect());
  if (const auto warm = service.WarmUp(); !warm) return Complain(kCannotCompile, warm.error().text);
  if (const auto shut = EnterSandbox(kCompilerSocketFd, kCompilerLifelineFd, {}); !shut)
    return Complain(kCannotCompile, shut.error().text);
  return service.Serve(kCompilerSocketFd) ? 0 : kCannotCompile;
}

void ListModule(const ImageCompiler& compiler) {
  const module::ModuleIndex& index = compiler.index();
  for (const module::CompiledKernel& kernel : index.kernels) {
    fmt::print("kernel {}: {} parameters in {} bytes, {} bytes shared{}, {} bytes local, at most {} threads\n",
               kernel.name, kernel.params.size(), kernel.param_bytes, kernel.static_shared_bytes,
               kernel.uses_dynamic_shared ? " and dynamic" : "", kernel.local_bytes, kernel.max_threads);
    if (!kernel.error.empty()) fmt::print("  cannot run: {}\n", kernel.error);
  }
  for (const module::SegmentVariable& variable : index.variables) {
    fmt::print("{} {}: {} bytes\n", variable.is_const ? "constant" : "variable", variable.name, variable.bytes);
  }
  if (!index.log.empty()) fmt::print(stderr, "{}\n", index.log);
}

void PrintTimes(const PhaseTimes& times) {
  double total = 0;
  for (const auto& [name, milliseconds] : times.phases()) {
    fmt::print(stderr, "{:>10} {:9.3f} ms\n", name, milliseconds);
    total += milliseconds;
  }
  fmt::print(stderr, "{:>10} {:9.3f} ms\n", "all", total);
}

int Write(const CommandLine& line, bool is_text, const std::vector<uint8_t>& bytes) {
  if (line.output.empty() && !is_text)
    return Complain(kUsage, "the result is binary: say where to write it with -o FILE");
  const auto written = command_line::WriteOutput(line.output, bytes);
  return written ? 0 : Complain(kUsage, written.error().text);
}

int Run(const CommandLine& line) {
  const auto input = command_line::ReadInput(line.input);
  if (!input) return Complain(kUsage, input.error().text);
  PhaseTimes times;
  const auto compiler = ImageCompiler::Open(*input, line.capability, &times);
  if (!compiler) return Complain(kCannotCompile, line.input + ": " + compiler.error().text);
  if (line.index) return Write(line, false, module::Serialize((*compiler)->index()));
  if (!line.stage) {
    ListModule(**compiler);
    if (line.verbose) PrintTimes(times);
    return 0;
  }
  std::string kernel = line.kernel;
  const auto& kernels = (*compiler)->index().kernels;
  if (kernel.empty()) {
    if (kernels.size() != 1)
      return Complain(kUsage,
                      fmt::format("{} has {} kernels: say which with --kernel NAME", line.input, kernels.size()));
    kernel = kernels[0].name;
  }
  const CompileOptions options{.block = line.block,
                               .optimize = line.optimize,
                               .quick = line.quick,
                               .target = line.cpu.empty() ? HostTarget::Detect() : HostTarget::Named(line.cpu),
                               .until = *line.stage};
  const auto result = (*compiler)->Compile(kernel, options, &times);
  if (line.verbose) PrintTimes(times);
  if (!result) return Complain(kCannotCompile, result.error().text);
  return Write(line, *line.stage < Stage::kObject, *result);
}

}  // namespace
}  // namespace tutti::compiler

int main(int count, char** arguments) {
  using namespace tutti::compiler;
  const CommandLineResult parsed = ParseCommandLine(count, arguments);
  if (parsed.exit_status) return *parsed.exit_status;
  if (parsed.line.worker) return RunWorker();
  if (parsed.line.cache_key) {
    fmt::print("tutti " TUTTI_VERSION " abi {} {}\n", tutti::guest::kAbiVersion, HostTarget::Detect().CacheKey());
    return 0;
  }
  return Run(parsed.line);
}
