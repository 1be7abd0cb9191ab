// The kernel descriptor of a widened module, which widen/kernel_descriptor.cc wrote as a constant: read and changed by
// the offset of a field.
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

  // Of a 32-bit field; the offset must be that of one.
  uint32_t Get32(uint64_t offset) const;
  void Set32(uint64_t offset, uint32_t value);

 private:
  explicit DescriptorFields(llvm::GlobalVariable* variable) : variable_(variable) {}
  unsigned ElementAt(uint64_t offset) const;

  llvm::GlobalVariable* variable_;
};

}  // namespace tutti::compiler
