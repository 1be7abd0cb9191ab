// The comparisons of vset, vset2 and vset4.
#pragma once

#include "interpreter/step.h"

namespace tutti::interpreter {

inline bool VideoCompare(Step& step, int64_t a, int64_t b) {
  const bool eq = step.Has(Modifier::kEq), ne = step.Has(Modifier::kNe), lt = step.Has(Modifier::kLt);
  const bool le = step.Has(Modifier::kLe), gt = step.Has(Modifier::kGt), ge = step.Has(Modifier::kGe);
  return (eq && a == b) || (ne && a != b) || (lt && a < b) || (le && a <= b) || (gt && a > b) || (ge && a >= b);
}

}  // namespace tutti::interpreter
