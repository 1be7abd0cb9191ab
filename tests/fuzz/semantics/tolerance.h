// The tolerated error of a result.
#pragma once

#include <cstdint>
#include <string>

#include "ptx/ast.h"

namespace semantics {

struct Tolerance {
  double ulps = 0, relative = 0, absolute = 0;
  bool flushes = false;  // a result at the limit to the subnormal numbers may be zero

  bool exact() const { return ulps == 0 && relative == 0 && absolute == 0; }
};

// Of a form, "ex2.approx.ftz.f32": by approximations.def; of what is not .approx and not .full: none.
Tolerance ToleranceOf(const std::string& form);

// Whether `got` may stand for `expected`, both values of `type`. NaNs of floating-point types are equal: the ISA
// promises their bits for few instructions.
bool Same(tutti::ptx::Type type, const Tolerance& tolerance, uint64_t expected, uint64_t got);

}  // namespace semantics
