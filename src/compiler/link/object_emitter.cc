#include "compiler/link/object_emitter.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

namespace tutti::compiler {
namespace {

Status Emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type, llvm::SmallVectorImpl<char>& bytes) {
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
