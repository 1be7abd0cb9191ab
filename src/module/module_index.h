// What is in a module, as the CPU device's compiler makes it from the PTX, and as it is kept in the code cache. Nothing
// here needs LLVM or a PTX parser to use. Clients get a ModuleInfo.
//
// All of a module's .global and .const variables are laid out in one *segment*, filled from `image` (zero beyond its
// end) and patched by `relocations`. A client's instance of the module is an allocation of `segment_bytes` in its
// window; the constants, with which the segment begins, have an address of their own (SegmentAddresses).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "module/module_info.h"

namespace tutti::module {

// A kernel is asked for by its name, in one packet (os::kMaxMessageBytes).
inline constexpr size_t kMostNameBytes = 100 << 10;

struct CompiledKernel : KernelInfo {
  bool uses_dynamic_shared = false;
};

struct SegmentVariable {
  std::string name;
  uint64_t offset = 0;  // in the segment
  uint64_t bytes = 0;
  bool is_const = false;
  bool is_managed = false;
  Reference reference = Reference::kNone;
};

// Stores into the 8 bytes at `offset`: the address of what is at `addend` in the segment (kSegment), or a function's.
struct Relocation {
  enum class Kind : uint8_t { kSegment = 0, kFunction = 1 };
  uint64_t offset = 0;
  uint64_t addend = 0;  // kSegment: offset of the target in the segment; kFunction: the function's table index
  Kind kind = Kind::kSegment;
};

// A segment begins with the module's constants, if it has any, on whole pages that hold nothing else: they can lie
// where no kernel writes.
inline constexpr uint64_t kSegmentPageBytes = 4096;

struct ModuleIndex {
  std::vector<CompiledKernel> kernels;
  std::vector<SegmentVariable> variables;
  std::vector<std::string> functions;  // names by table index (device functions and kernels)
  std::vector<Relocation> relocations;
  uint64_t segment_bytes = 0;
  uint64_t segment_alignment = 16;
  std::vector<uint8_t> image;  // initial bytes of the segment
  std::string log;  // JIT info log: warnings, directives skipped
};

// "Address" of the function with table index i, as device code sees it: never a host address, so a forged one is
// caught.
inline constexpr uint64_t kFunctionAddressBase = 0x100;
inline constexpr uint64_t FunctionAddress(uint32_t index) { return kFunctionAddressBase + 16ull * index; }

// Bytes of the segment's first pages that hold constants and nothing else; 0 if the index does not keep to that.
uint64_t ConstantBytes(const ModuleIndex& index);

// Where an instance of a module has its variables.
struct SegmentAddresses {
  uint64_t segment = 0;  // 0: it has none
  uint64_t constants = 0;  // of the first `constant_bytes`
  uint64_t constant_bytes = 0;  // 0: they are in the segment like all else

  uint64_t Of(uint64_t offset) const { return (offset < constant_bytes ? constants : segment) + offset; }
};

// Of an instance with these addresses.
ModuleInfo Describe(const ModuleIndex& index, const SegmentAddresses& addresses);

std::vector<uint8_t> Serialize(const ModuleIndex& index);
// For bytes from the compiler process or the cache, neither of which is trusted with our memory.
Result<ModuleIndex> ParseModuleIndex(std::span<const uint8_t> bytes);

}  // namespace tutti::module
