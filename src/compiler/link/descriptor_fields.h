// Reads and changes fields, by offset, of the kernel descriptor that widen/emit/kernel_descriptor.cc wrote as a
// constant.
#pragma once

#include <cstdint>
#include <optional>

namespace llvm {
class GlobalVariable;
class Module;
}  // namespace llvm

namespace tutti::compiler {

class DescriptorFields {
 public:
  // Nothing if the module has no descriptor.
  static std::optional<DescriptorFields> Of(llvm::Module& module);

  // The value of a 32-bit field at `offset`.
  uint32_t Get32(uint64_t offset) const;
  void Set32(uint64_t offset, uint32_t value);

 private:
  explicit DescriptorFields(llvm::GlobalVariable* variable) : variable_(variable) {}
  unsigned ElementAt(uint64_t offset) const;

  llvm::GlobalVariable* variable_;
};

}  // namespace tutti::compiler
