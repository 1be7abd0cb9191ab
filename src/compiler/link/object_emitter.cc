#include "compiler/link/object_emitter.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <iterator>

namespace tutti::compiler {
namespace {

// The register allocator may take long to find where to split a value that lives through many blocks, and a kernel of 32
// lanes has many. With a hundredth of the usual budget it takes a fifth of the time, half of all that a large kernel of a
// sorting library took to compile; the code is smaller and not slower. LLVM has no other way to ask for this.
void SetOptions() {
  static const bool set = [] {
    const char* const arguments[] = {"tutti-compiler", "-grow-region-complexity-budget=100"};
    return llvm::cl::ParseCommandLineOptions(std::size(arguments), arguments, "", &llvm::nulls());
  }();
  (void)set;
}

Status Emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type, llvm::SmallVectorImpl<char>& bytes) {
  SetOptions();
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
