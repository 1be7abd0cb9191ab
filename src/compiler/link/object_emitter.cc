#include "compiler/link/object_emitter.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

namespace tutti::compiler {
namespace {

// The register allocator's search for places to split live ranges that span many blocks can take long, and a kernel of
// 32 lanes has many such ranges. With a hundredth of the usual budget it takes a fifth of the time, which halved the
// compilation of a large kernel of a sorting library; the code is smaller and not slower. LLVM offers only a
// command-line option for this, and lld resets all options each time it links, so it is set before each kernel.
Status LimitRegisterSearch() {
  const auto& options = llvm::cl::getRegisteredOptions();
  const auto budget = options.find("grow-region-complexity-budget");
  if (budget == options.end()) return Fail("this LLVM has no option grow-region-complexity-budget");
  budget->second->reset();
  if (budget->second->addOccurrence(0, budget->first(), "100"))
    return Fail("this LLVM takes no budget of 100 for regions");
  return {};
}

Status Emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
            llvm::SmallVectorImpl<char>& bytes) {
  TUTTI_TRY(LimitRegisterSearch());
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
