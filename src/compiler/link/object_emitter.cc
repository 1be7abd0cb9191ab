#include "compiler/link/object_emitter.h"

#include <fmt/format.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>

#include "compiler/link/loaded_once.h"

namespace tutti::compiler {
namespace {

// LLVM offers only command-line options for these, and lld resets all options each time it links, so they are set
// before each kernel.
Status SetOption(llvm::StringRef name, llvm::StringRef value) {
  const auto& options = llvm::cl::getRegisteredOptions();
  const auto option = options.find(name);
  if (option == options.end()) return Fail(fmt::format("this LLVM has no option {}", name.str()));
  option->second->reset();
  constexpr unsigned kPosition = 1;  // 0: it was not given
  if (option->second->addOccurrence(kPosition, option->first(), value))
    return Fail(fmt::format("this LLVM takes no {}={}", name.str(), value.str()));
  return {};
}

Status LimitEffort(const llvm::Module& module) {
  // The register allocator's search for places to split live ranges that span many blocks can take long, and a kernel
  // of 32 lanes has many such ranges. With a hundredth of the usual budget it takes a fifth of the time, which halved
  // the compilation of a large kernel of a sorting library; the code is smaller and not slower. With a thousandth
  // kernels of thousands of loads and stores take two thirds of the time once more, but SpMV runs a seventh longer.
  constexpr size_t kManyBlocks = 2000;
  const bool many = std::ranges::any_of(module, [](const auto& function) { return function.size() >= kManyBlocks; });
  TUTTI_TRY(SetOption("grow-region-complexity-budget", many ? "10" : "100"));
  // In lanes' turns all of a function is a loop, and LLVM would move each constant vector in front of it, to live
  // throughout and be split and made again by the allocator: the fenced onesweep sort of CUB took 6.0 s instead of 3.6.
  // Its loops have kept what is invariant by other passes, and constants are operands in memory.
  TUTTI_TRY(SetOption("disable-machine-licm", many ? "true" : "false"));
  // It would keep what a check reports in registers, across all of a long kernel; in its cold ways constants cost
  // nothing, and loops keep theirs by other passes.
  TUTTI_TRY(SetOption("disable-constant-hoisting", "true"));
  // A tenth of the time. Processors that have our vectors reorder what is ready by themselves.
  return SetOption("post-RA-scheduler", "false");
}

Status Emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
            llvm::SmallVectorImpl<char>& bytes) {
  TUTTI_TRY(LimitEffort(module));
  LoadOnce(module);
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true)) {
    return Fail("this LLVM cannot write object files for x86-64");
  }
  passes.run(module);
  return {};
}

}  // namespace

Result<std::vector<uint8_t>> EmitObject(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  TUTTI_TRY(Emit(module, machine, llvm::CodeGenFileType::ObjectFile, bytes));
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

Result<std::string> EmitAssembly(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  TUTTI_TRY(Emit(module, machine, llvm::CodeGenFileType::AssemblyFile, bytes));
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace tutti::compiler
