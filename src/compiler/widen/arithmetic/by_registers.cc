#include "compiler/widen/arithmetic/by_registers.h"

#include "compiler/widen/analysis/shape.h"

namespace tutti::compiler {

using llvm::Value;

Value* ByRegisters(llvm::IRBuilder<>& builder, const UpToThree& operands,
                   llvm::function_ref<Value*(const UpToThree&)> operation) {
  const auto own_lanes = static_cast<unsigned>(512 / operands[0]->getType()->getScalarSizeInBits());
  llvm::SmallVector<Value*, 4> parts;
  for (unsigned first = 0; first < kLanes; first += own_lanes) {
    llvm::SmallVector<int, 16> own;
    for (unsigned lane = 0; lane < own_lanes; ++lane) own.push_back(static_cast<int>(first + lane));
    UpToThree slices;
    for (Value* operand : operands) slices.push_back(builder.CreateShuffleVector(operand, own));
    parts.push_back(operation(slices));
  }
  while (parts.size() > 1) {
    llvm::SmallVector<int, kLanes> both;
    for (unsigned i = 0; i < 2 * kLanes / parts.size(); ++i) both.push_back(static_cast<int>(i));
    llvm::SmallVector<Value*, 4> joined;
    for (unsigned i = 0; i < parts.size(); i += 2)
      joined.push_back(builder.CreateShuffleVector(parts[i], parts[i + 1], both));
    parts = joined;
  }
  return parts[0];
}

}  // namespace tutti::compiler
