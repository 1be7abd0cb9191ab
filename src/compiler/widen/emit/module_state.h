// State that the functions of one module share while they are widened.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Module.h>

#include <map>
#include <tuple>
#include <vector>

#include "compiler/widen/analysis/block_shape.h"
#include "compiler/widen/analysis/options.h"

namespace tutti::compiler {

// Places in the source that fault reports name: !tutti.loc.
class LocationTable {
 public:
  using Location = std::tuple<uint32_t, uint32_t, uint32_t>;  // PTX line, source line, source file
  static constexpr uint32_t kUnknown = ~0u;

  // Index of the instruction's location, or kUnknown.
  uint32_t IndexOf(const llvm::Instruction& instruction);
  const std::vector<Location>& locations() const { return locations_; }

 private:
  std::vector<Location> locations_;
  std::map<Location, uint32_t> index_;
};

struct ModuleState {
  // Of a module as lower/ makes it.
  ModuleState(llvm::Module& scalar, const WidenOptions& how);

  llvm::Module& module;
  const WidenOptions& options;
  BlockShape block;
  LocationTable locations;
  llvm::DenseMap<const llvm::Function*, llvm::Function*> wide;  // of functions that are called
  llvm::DenseMap<const llvm::Constant*, llvm::GlobalVariable*> tables;
  uint32_t flags = 0;             // guest::KernelFlags
  bool may_wait_for_blocks = true;  // one of its blocks, for another one
  uint64_t param_bytes = 0;
  uint64_t constant_bytes = 0;       // of the module, at tutti.constants_base()
  uint64_t static_shared_bytes = 0;  // a block has at least these
  uint64_t frame_bytes = 0;        // of each lane's local memory, for the frames of all functions
  uint64_t stack_bytes = 0;        // the last of these: tutti.stack
  uint64_t interleaved_bytes = 0;  // per lane, of the memory that follows all lanes' frames
  uint64_t runtime_stack_bytes = 0;  // at most, of functions of the guest runtime with large frames
  uint64_t wide_operations = 0;  // emitted so far: the basis of the stack estimate

  // The address of a constant with these lanes, one for all who ask for it.
  llvm::GlobalVariable* Table(llvm::Constant* lanes);
  // A function of the guest runtime, declared on first use.
  llvm::FunctionCallee Runtime(llvm::StringRef name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters);
};

}  // namespace tutti::compiler
