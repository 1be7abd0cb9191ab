// Runs one program on each judge, on the same inputs at the same addresses.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "program.h"
#include "window.h"

namespace semantics {

enum class Judge : uint8_t { kInterpreter, kFencedInterpreter, kAvx512, kAvx2, kBaseline, kFencedCompiler, kQuick };
inline constexpr size_t kJudges = 7;
const char* NameOf(Judge judge);
// Whether this machine can.
bool CanRun(Judge judge);

// How many threads run it.
struct Extent {
  uint32_t blocks = kBlocks, threads = kThreads;
};

// Begins what is said of fenced programs that the compiler cannot judge: divergence.md says which.
// What the compiler says of kernels that have no quick code (compiler/threads).
inline constexpr const char* kNotForThreads = "cannot be run a thread at a time";
inline constexpr const char* kTooLarge = "too large for a copy for lanes that meet apart";

struct ThreadFault {
  enum class Kind : uint8_t { kOther, kIllegalAddress, kMisalignedAddress } kind = Kind::kOther;
  uint32_t thread = 0, line = 0;
};

struct Run {
  std::optional<ThreadFault> fault = {};
  std::string error;             // not empty: it could not be compiled or run, and why
  std::vector<uint8_t> output;   // of all blocks
};

class Runner {
 public:
  Runner();
  // Inputs of all blocks, made from the seed.
  void SetInputs(uint64_t seed);
  std::vector<uint8_t>& inputs() { return inputs_; }
  Run Execute(const Program& program, Judge judge, Extent extent = {});
  // Of the processor, that the judge has taken so far.
  double seconds(Judge judge) const { return seconds_[static_cast<size_t>(judge)]; }

 private:
  Run ExecuteUntimed(const Program& program, Judge judge, Extent extent);

  // One and the same for all judges of a program.
  void SetWindow(const Program& program, Extent extent);
  void FillWindow();

  std::array<double, kJudges> seconds_{};
  std::vector<uint8_t> inputs_;
  Window::Sizes sizes_{};
  Part first_{};
  Window window_;  // of sizes_, from first_ on
};

struct Difference {
  uint32_t block = 0, thread = 0;
  Result result;
  std::string expected, got;
};
// The results that differ by more than their tolerance.
std::vector<Difference> Compare(const Program& program, const Run& expected, const Run& got, Extent extent = {});

}  // namespace semantics
