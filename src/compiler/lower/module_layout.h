// The layout of a module: its global and constant variables in the module's segment, each kernel's parameters and
// shared variables; and what the device needs to know of them (module::ModuleIndex). Made once per module, immutable
// and thread-safe afterwards. Keeps a reference to the ptx::Module.
//
// The segment begins with the constants, on pages of their own, so that the device can write-protect them and
// isspacep.const is one range check. Initialised variables come before others, so that the image in the code cache is
// no longer than it must be.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "compiler/lower/call_graph.h"
#include "module/module_index.h"
#include "ptx/ast.h"

namespace tutti::compiler {

// What one kernel and the functions it reaches need of the block's shared window.
struct KernelLayout {
  std::vector<uint32_t> functions;  // the kernel first, then all it reaches
  std::unordered_map<uint32_t, uint32_t> module_shared;  // Module::variables index -> offset
  std::unordered_map<uint64_t, uint32_t> local_shared;  // (function << 32 | local) -> offset
  std::vector<uint32_t> params;  // offsets in the parameter buffer
  uint32_t param_bytes = 0;
  uint32_t shared_bytes = 0;  // static
  uint32_t local_bytes = 0;
  bool uses_dynamic_shared = false;
};

class ModuleLayout {
 public:
  // Fails (CUDA_ERROR_INVALID_PTX, CUDA_ERROR_UNSUPPORTED_PTX_VERSION) only for what concerns the module as a whole;
  // what concerns one kernel is in its KernelInfo::error.
  static Result<ModuleLayout> Make(const ptx::Module& module);

  const module::ModuleIndex& index() const { return index_; }
  const lowering::CallGraph& calls() const { return calls_; }

  // Offset of a module variable in the segment; none for .shared and extern variables.
  std::optional<uint64_t> VariableOffset(uint32_t variable) const { return offsets_[variable]; }
  // Where the constants end, with which the segment begins.
  uint64_t const_end() const { return const_end_; }
  // Fails with the reason why this kernel cannot run. `function` is an index into Module::functions.
  Result<KernelLayout> Kernel(uint32_t function) const;

 private:
  explicit ModuleLayout(const ptx::Module& module) : module_(&module), calls_(module) {}
  Status PlaceVariables();
  Status FillImage();
  void DescribeKernels();

  const ptx::Module* module_;
  lowering::CallGraph calls_;
  module::ModuleIndex index_;
  std::vector<std::optional<uint64_t>> offsets_;
  uint64_t const_end_ = 0;
};

}  // namespace tutti::compiler
