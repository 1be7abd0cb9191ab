// One program, by each of those that can run it, on the same inputs at the same addresses.
#pragma once

#include <string>
#include <vector>

#include "program.h"

namespace semantics {

enum class Judge : uint8_t { kInterpreter, kFencedInterpreter, kAvx512, kAvx2, kBaseline, kFencedCompiler };
const char* NameOf(Judge judge);
// Whether this machine can.
bool CanRun(Judge judge);

struct Run {
  std::string error;             // not empty: it could not be compiled or run, and why
  std::vector<uint8_t> output;   // of all threads
};

class Runner {
 public:
  Runner();
  // Inputs of all threads, made from the seed.
  void SetInputs(uint64_t seed);
  std::vector<uint8_t>& inputs() { return inputs_; }
  Run Execute(const Program& program, Judge judge, uint32_t threads = kThreads);

 private:
  std::vector<uint8_t> inputs_, output_, scratch_;
};

struct Difference {
  uint32_t thread = 0;
  Result result;
  std::string expected, got;
};
// The first result that differs by more than its tolerance. NaNs of floating-point results are equal: the ISA promises their
// bits for few instructions.
std::vector<Difference> Compare(const Program& program, const Run& expected, const Run& got, uint32_t threads = kThreads);

}  // namespace semantics
