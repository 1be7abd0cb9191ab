// Which array each operation of a transform writes, so that none overwrites what it or a later one still reads.
#pragma once

#include <functional>
#include <vector>

#include "libraries/fft/steps.h"

namespace tutti::fft {

// How data between two operations is laid out, by where it is: from row to row, in complex elements.
struct Form {
  uint64_t in_pitch = 0, out_pitch = 0, work_pitch = 0;
  bool fits_out = false;  // the program's output may hold it

  uint64_t PitchAt(Place place) const;
};

struct Operation {
  Form to;
  // It writes nothing but what it has read, if both are the same array with the same pitch.
  bool works_in_place = false;
  // Appends its steps; false if they are too large.
  std::function<bool(const Operand& from, const Operand& to)> emit;
};

// The array for the result of each operation; the last one writes kOut. `from` is the form of the input. kSecondWork is
// used only if there is no other way. Empty if there is none at all: one operation in place that does not work in
// place.
std::vector<Place> FindRoute(const Form& from, const std::vector<Operation>& operations, bool is_in_place);

}  // namespace tutti::fft
