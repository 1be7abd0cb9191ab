// A plan as a sequence of launches, independent of any device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "libraries/fft/kernels/arguments.h"
#include "libraries/fft/problem.h"
#include "libraries/fft/tables.h"

namespace tutti::fft {

// Arrays that steps read and write. `kIn` and `kOut` are the program's, the others parts of the work area.
enum class Place : uint8_t { kIn, kOut, kWork, kSecondWork, kScratch, kSecondScratch };
constexpr int kPlaces = 6;

struct Operand {
  Place place = Place::kIn;
  uint64_t pitch = 0;   // complex elements from row to row
  uint64_t offset = 0;  // complex elements
};

using Arguments = std::variant<PassArguments, MultiplyArguments, HalfArguments, CopyArguments>;

constexpr uint64_t kNoTable = ~uint64_t{0};

struct Step {
  std::string kernel;
  Arguments arguments;  // but for the addresses
  Operand from, to;
  uint64_t table = kNoTable;  // place in Tables
  uint32_t blocks = 0, threads = 32;  // of a block
};

struct Steps {
  std::vector<Step> steps;
  // Of the work area, in complex elements. Work is at its start, the others follow in their order.
  uint64_t work = 0, second_work = 0, scratch = 0;  // two scratches of this size
  // Pointers to the program's real data are used as pointers to complex numbers.
  bool in_as_complex = false, out_as_complex = false;

  uint64_t work_elements() const { return work + second_work + 2 * scratch; }
  uint64_t OffsetOf(Place place) const;
};

// How a plan runs; real transforms have one direction only.
struct Way {
  bool is_in_place = false, is_inverse = false;
};

// The steps of a problem, their tables added to `tables`. Without a value: the transform is larger than the kernels'
// counters.
std::optional<Steps> MakeSteps(const Problem& problem, Way way, Tables& tables);

}  // namespace tutti::fft
