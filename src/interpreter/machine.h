// An interpreter of PTX: the oracle for our compiler.
//
// Written from the PTX ISA and nothing else, and as plain as possible, at the price of speed: a thread is a stack of
// frames with a program counter; the threads of a cluster take turns, one instruction each; clusters run one after
// another.
// One file holds the instructions of a family; families.cc says which.
//
// It refuses what it does not know: an instruction with a modifier that its family did not ask for ends the run with
// Outcome::refused. So every instruction that runs has been interpreted completely.
//
// Where the ISA leaves a result open:
//   * a NaN that arithmetic makes is the canonical one of its format (0x7fffffff, 0x7fff, 0x7ff8000000000000): compare
//     NaNs as equal, since the ISA promises the bits for some instructions only;
//   * .approx instructions give the exact value, rounded: compare with the ISA's tolerance;
//   * mma sums in double precision and rounds once: compare where every sum is exact;
//   * registers that were never written hold a conspicuous pattern.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "interpreter/memory.h"
#include "interpreter/thread.h"
#include "ptx/ast.h"

namespace tutti::interpreter {

struct Launch {
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::array<uint32_t, 3> block = {1, 1, 1};
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  bool explicit_cluster = false;
  std::vector<uint8_t> params;  // as the entry declares them, each at its alignment
  uint32_t dynamic_shared_bytes = 0;
  uint64_t steps = uint64_t{1} << 32;  // instructions of all threads together; then the run is refused
};

struct Fault {
  int error = 0;  // the CUresult that a launch would end with
  uint32_t thread = 0;
  uint32_t line = 0;  // of the PTX
  std::string text;
};

struct Outcome {
  std::optional<Fault> fault;
  bool deadlock = false;  // threads are left, and all of them wait
  std::string refused;  // not empty: what is not interpreted
  std::string output;  // printed by the kernel
};

class Step;

class Machine {
 public:
  // `module` must outlive it. Its variables are placed and initialised here.
  explicit Machine(const ptx::Module& module);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  GlobalMemory& global() { return global_; }
  // The variable's bytes; null if there is none of that name in global or constant memory.
  uint8_t* Variable(const std::string& name);

  Outcome Run(const std::string& kernel, const Launch& launch);

 private:
  friend class Step;

  void RunCluster(const std::array<uint32_t, 3>& first);
  void StartBlock(Block& block);
  bool RunTurn(Block& block, uint64_t turns, bool* left);
  void StartThread(Thread& thread, uint32_t index);
  void RunThread(Thread& thread);
  void PlaceLocals(Thread& thread);
  void CallFunction(Thread& thread, const ptx::Function& callee, const ptx::Instruction& call);
  void ReturnFrom(Thread& thread);
  void CheckModifiers(Step& step);
  bool HoldMeetings(Block& block, uint32_t warp);
  bool CompleteBarriers(Block& block);
  bool CompleteClusterBarrier();
  void EndPhase(Block& block, uint32_t barrier);
  bool stopped() const { return outcome_.fault.has_value() || !outcome_.refused.empty(); }

  const ptx::Module& module_;
  GlobalMemory global_;
  std::vector<uint8_t> segment_;
  std::map<ptx::SymbolId, uint64_t> addresses_;  // of variables in global and constant memory
  std::vector<std::vector<uint8_t>> heap_;  // what malloc has given
  const Launch* launch_ = nullptr;
  const ptx::Function* entry_ = nullptr;
  std::vector<uint64_t> param_offsets_;
  std::vector<uint8_t> params_;
  std::vector<Block> blocks_;  // of the cluster that runs, by rank
  Block* block_ = nullptr;     // whose thread runs
  std::minstd_rand random_;
  Outcome outcome_;
  uint64_t steps_ = 0;
  std::map<const ptx::Instruction*, bool> all_known_;  // instructions whose modifiers were all asked for
};

}  // namespace tutti::interpreter
