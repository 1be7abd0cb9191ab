// LLVM module to relocatable object or assembly text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace tutti::compiler {

// An ELF relocatable object. Changes the module (the code generator's own preparation).
Result<std::vector<uint8_t>> EmitObject(llvm::Module& module, llvm::TargetMachine& machine);

// Assembly, for people.
Result<std::string> EmitAssembly(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace tutti::compiler
