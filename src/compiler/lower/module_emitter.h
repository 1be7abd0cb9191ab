// An LLVM module under construction: its functions, the tutti.* declarations that it uses, and the diagnostics.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/lower/llvm.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/module_layout.h"
#include "ptx/ast.h"

namespace tutti::compiler::lowering {

// What the optimiser may assume of a tutti.* function.
enum class Effect {
  kPure,  // a pure function of its arguments: may be computed anywhere
  kWarp,  // convergent: depends on which lanes are active, stays under its branches, and is not merged with another
  kWarpLoad,  // the same, and reads memory
  kClock,    // different every time, touches no memory
  kMemory,   // may read and write any memory
  kBarrier,  // both: convergent and a point that memory accesses do not cross
  kEnd,      // does not return
};

// How an aggregate or scalar in .param space is passed between device functions: pieces of first-class types.
struct Piece {
  uint64_t offset;
  llvm::Type* type;
};

class ModuleEmitter {
 public:
  ModuleEmitter(llvm::LLVMContext& context, const ptx::Module& source, const ModuleLayout& layout,
                const KernelLayout& kernel, const LowerOptions& options, LowerDiagnostics& diagnostics);

  // Emits the kernel (the first of KernelLayout::functions) and all others.
  void Emit();
  std::unique_ptr<llvm::Module> Take() { return std::move(module_); }

  llvm::LLVMContext& context() { return module_->getContext(); }
  llvm::Module& module() { return *module_; }
  const ptx::Module& source() const { return source_; }
  const ModuleLayout& layout() const { return layout_; }
  const KernelLayout& kernel() const { return kernel_; }
  const LowerOptions& options() const { return options_; }
  LowerDiagnostics& diagnostics() { return diagnostics_; }

  // The declaration of a tutti.* function, made on first use.
  llvm::FunctionCallee Declare(llvm::StringRef name, llvm::FunctionType* type, Effect effect);
  // The function made from Module::functions[index]; null if it is not part of this kernel.
  llvm::Function* FunctionAt(uint32_t index) const;
  // tutti.call.<n> of a function type.
  llvm::FunctionCallee IndirectCall(llvm::FunctionType* callee);

  std::vector<Piece> PiecesOf(const std::vector<ptx::LocalVariable>& variables, std::vector<size_t>* first_piece);
  llvm::FunctionType* TypeOfFunction(const ptx::Prototype& prototype);

  // Ties a PTX line to the source line that .loc gave it, for fault reports.
  void NoteSource(const ptx::Instruction& instruction);
  llvm::DISubprogram* Subprogram(const ptx::Function& function, llvm::Function* ir);

 private:
  llvm::Function* DeclareFunction(uint32_t index, bool is_kernel);
  void DecideInlining();
  void WriteMetadata();

  const ptx::Module& source_;
  const ModuleLayout& layout_;
  const KernelLayout& kernel_;
  const LowerOptions& options_;
  LowerDiagnostics& diagnostics_;
  std::unique_ptr<llvm::Module> module_;
  llvm::DIBuilder debug_;
  llvm::DIFile* debug_file_ = nullptr;
  llvm::DISubroutineType* debug_type_ = nullptr;
  std::unordered_map<uint32_t, llvm::Function*> functions_;
  std::vector<llvm::FunctionType*> indirect_types_;
  std::unordered_map<uint32_t, std::pair<uint32_t, uint32_t>> source_lines_;  // PTX line -> line, file
};

}  // namespace tutti::compiler::lowering
