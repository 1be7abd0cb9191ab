// The forms of forms.def, each alternative its own.
#pragma once

#include <string>
#include <vector>

#include "program.h"
#include "random.h"

namespace semantics {

enum class Sources : uint8_t { kAny, kDivisor, kTame, kAngle, kNarrow };

struct Form {
  std::string name;      // "add.rn.f32"
  std::string operands;  // letters of operand_shape.def; Q: a second destination, i: a number
  Sources sources;
};
const std::vector<Form>& Forms();
// The same by opcode: of some there are thousands, of others two.
const std::vector<std::vector<Form>>& FormsByOpcode();

// One statement of the form: sources loaded from the thread's inputs, the result stored to its output.
Statement MakeForm(const Form& form, Random& random, uint32_t& output_bytes);
// A value of the thread's inputs, of so many bytes, as an operand of a load: "[%in4+48*T]".
std::string Input(Random& random, Kind kind, uint32_t bytes);
// Where a result goes: "[%out4+48*T]".
std::string Output(const Result& result);
// Room in the output.
uint32_t Reserve(uint32_t& output_bytes);

}  // namespace semantics
