// Reduces a program to the least that still shows a difference.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "program.h"
#include "runner.h"

namespace semantics {

// Drops statements, many at a time, then few, as long as `still` holds.
void Shrink(Program& program, const std::function<bool()>& still);
// The forms of the statements that are not dropped: "shfl.sync.up + add.u32".
std::string FormsLeft(const Program& program);

struct Reduced {
  Program program;
  Extent extent;                        // one block, and one warp of it, if they show it
  std::vector<uint8_t> inputs;          // of the first block
  std::vector<uint8_t> expected;        // what the interpreter stores
  std::vector<Difference> differences;  // none: it does not differ every time
};
// Of a program of which `judge` makes something else than the interpreter, on the runner's inputs.
Reduced Reduce(Runner& runner, const Program& program, Judge judge);

}  // namespace semantics
