// What an instruction does to memory, as far as the fence must know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ptx/ast.h"

namespace tutti::compiler::fencing {

// The memory that an address must lie in. The numbers are arguments of __tutti_check (check_functions.cc).
enum class Region : uint8_t { kGeneric = 0, kGlobal = 1, kShared = 2, kLocal = 3, kConst = 4, kParam = 5 };

struct Access {
  uint32_t operand = 0;  // index of the address operand
  Region region = Region::kGeneric;
  uint64_t bytes = 0;  // from the address on
  uint32_t align_log2 = 0;
  bool writes = false;
  uint32_t lanes = 32;  // of a warp, from the first one on, whose addresses count: what others have may be no address
  // The number of bytes is factor * (this operand) + bytes; ~0: no such operand.
  uint32_t counted_by = ~0u;
  uint64_t factor = 0;
  uint32_t shift = 0;  // factor * operand, which is a multiple, is divided by 1 << shift
  uint32_t count_align_log2 = 0;  // that operand is a multiple of this
};

struct Accesses {
  std::vector<Access> list;
  std::string refusal;  // not empty: why the instruction cannot be fenced
  bool is_hint = false;  // without it the program does the same
};

Accesses AccessesOf(const ptx::Module& module, const ptx::Function& function, const ptx::Instruction& instruction);

// The access is to a parameter, of the kernel, of a function or of a call, and stays in it, aligned.
bool IsWithinParameter(const ptx::Function& function, const ptx::Instruction& instruction);

}  // namespace tutti::compiler::fencing
