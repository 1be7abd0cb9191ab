// Lowering: from one PTX kernel, and every device function it can reach, to an optimised module of scalar LLVM IR
// (ir_contract.md). Thread-safe on different LLVMContexts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/lower/module_layout.h"
#include "ptx/ast.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace tutti::compiler {

struct LowerOptions {
  std::array<uint32_t, 3> block{};  // the shape the kernel is compiled for; 0s: any
  bool optimize = true;             // false: the IR as it was emitted, for golden tests
};

// One PTX statement that could not be lowered, and why.
struct LowerDiagnostic {
  std::string function;
  ptx::SourcePosition position;
  std::string statement;  // "tex.2d.v4.f32.f32"
  std::string reason;
  bool invalid = false;  // not valid PTX, rather than not supported
};

class LowerDiagnostics {
 public:
  void Add(LowerDiagnostic diagnostic) { entries_.push_back(std::move(diagnostic)); }
  bool empty() const { return entries_.empty(); }
  const std::vector<LowerDiagnostic>& entries() const { return entries_; }
  // One line each, the same reason for the same statement only once: "line 12: tex.2d...: textures are not supported".
  std::string Text() const;

 private:
  std::vector<LowerDiagnostic> entries_;
};

// `function` is an index into module.functions, of an entry. `layout` was made from the same module. All statements
// that cannot be lowered are collected in `diagnostics`; if there are any the result is CUDA_ERROR_INVALID_PTX or, if
// all of them are valid PTX, CUDA_ERROR_NOT_SUPPORTED.
Result<std::unique_ptr<llvm::Module>> LowerKernel(llvm::LLVMContext& context, const ptx::Module& module,
                                                  uint32_t function, const ModuleLayout& layout,
                                                  const LowerOptions& options, LowerDiagnostics& diagnostics);

}  // namespace tutti::compiler
