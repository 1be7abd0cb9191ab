// The processor that kernels are compiled for.
//
// Widened code is written once, on vectors of 32. Only here is it decided what they become: two zmm, four ymm or eight
// xmm registers per 32-bit vector.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace tutti::compiler {

enum class VectorLevel : uint8_t { kBaseline, kAvx2, kAvx512 };

struct HostTarget {
  std::string cpu;       // as LLVM names it: "znver4"
  std::string features;  // "+avx2,+fma,...,-egpr,...", sorted: equal machines give equal text
  VectorLevel level = VectorLevel::kBaseline;

  // This machine. TUTTI_CPU=x86-64-v2|x86-64-v3|x86-64-v4 selects a lesser one, for tests.
  static HostTarget Detect();
  // A named processor, with the features LLVM knows it to have.
  static HostTarget Named(std::string cpu);
  // A processor with these features, less those that kernels may not use.
  static HostTarget With(std::string cpu, std::vector<std::string> features);

  // Everything that determines the generated code, for cache keys: "znver4 +avx2,..., LLVM 19.1.7".
  std::string CacheKey() const;
  // Bits of the widest register: 128, 256 or 512.
  uint32_t vector_bits() const;
};

// A code generator for `target`. Level 0 .. 3 as in -O. Position-independent. Not thread-safe: one per thread.
Result<std::unique_ptr<llvm::TargetMachine>> CreateTargetMachine(const HostTarget& target, uint32_t optimize);

// Gives the module its triple and data layout, and every function the attributes that make the code generator use all
// of the target's registers, and functions of the guest runtime what the processor has for them (byte_products.h). Call
// it after the runtime was linked in, and before optimising.
void ApplyTarget(llvm::Module& module, const HostTarget& target, llvm::TargetMachine& machine);

}  // namespace tutti::compiler
