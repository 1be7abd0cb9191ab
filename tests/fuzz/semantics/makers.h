// Statements with more than one form: across threads, memory, control flow, calls, matrices, video.
#pragma once

#include <string>
#include <vector>

#include "program.h"
#include "random.h"

namespace semantics {

class Maker {
 public:
  Maker(Random& random, uint32_t& output_bytes) : random_(random), output_bytes_(output_bytes) {}

  // A statement of any kind. `uniform`: all threads of the block get here together.
  Statement Make(bool uniform, uint32_t depth);
  // By the next of the methods that may stand anywhere, round robin.
  Statement MakeInTurn(uint64_t turn);

  // Statements with warps as they are in the program (makers_warp.cc, makers_memory.cc, ...).
  Statement Shuffle();
  Statement Vote();
  Statement MatchOrReduce();
  Statement WarpBarrier();
  Statement HalvesMeet();
  Statement SharedExchange();
  Statement BarrierReduce();
  Statement ProducerConsumer();
  Statement PhaseBarrier();
  Statement AsyncCopy();
  Statement BulkCopy();
  Statement BulkReduction();
  Statement AsyncStore();
  Statement SharedAtomics();
  Statement OwnCluster();
  Statement OwnAtomics();
  Statement LoadStore();
  Statement Addresses();
  Statement Constants();
  Statement Policies();
  Statement Local();
  Statement Stack();
  Statement Packing();
  Statement Carry();
  Statement Video();
  Statement VideoMultiplyAdd();
  Statement VideoPacked();
  Statement Lookup();
  Statement Call();
  Statement Hints();
  Statement MatrixMultiply();
  Statement MatrixMove();
  Statement Wmma();
  Statement MixIntegers();
  Statement Apart();
  Statement Gathers();
  Statement Fields();
  Statement SharedFields();
  Statement Indices();
  Statement Searches();
  // One thread's row may lead out of the memory: of all of it, if the inputs are what it begins or ends with.
  Statement WildRows(bool downwards);

 private:
  struct WildRow {
    uint32_t bytes = 4;
    int step = 1;
    std::string address = {}, access = {};
    uint32_t before = 0;  // what indices are less
    uint32_t guard = 0;   // elements that may be accessed; 0: no guard
    bool loads = true, moves = false, follows = false, leaves = false, in_shared = false;
  };
  std::string FillShared();
  std::string WildRound(const WildRow& row, const std::string& end);
  Statement SparseRow();
  Statement LoopInLoop();
  Statement Chase();
  Statement BinarySearch();
  Statement ColumnWalk();
  std::string GatherRound(const std::string& leave);
  std::string ReadFields(const std::string& space, const std::string& base, uint32_t words);
  Statement ArmsMeet();
  Statement ArmsMeetTwice();
  Statement RoundsMeet();
  Statement BarrierInArms();
  Statement HalvesThenAll();
  Statement Waits(uint32_t depth);
  Statement WaitInARow();
  Statement LookBack();
  Statement WaitForALock();
  Statement WaitInRounds();
  Statement Waiting(const char* form, const std::string& waits, const std::string& end, bool from_last = false);
  Statement If(bool uniform, uint32_t depth);
  Statement Loop(bool uniform, uint32_t depth);
  Statement Switch(uint32_t depth);
  std::string X() { return "%x" + std::to_string(random_.Below(8)); }
  std::string Again(const std::string& form, uint32_t d_count, uint32_t a_count, uint32_t b_count,
                    const std::string& type);
  std::string Label() { return "l" + std::to_string(labels_++); }
  // " [%out+N], " with a result of the type behind it.
  std::string Out(Statement& statement, tutti::ptx::Type type = tutti::ptx::Type::kB32);

  Random& random_;
  uint32_t& output_bytes_;
  uint32_t labels_ = 0;
};

// Rows of `opcode.def` that are never generated, and why.
struct Unreached {
  const char* opcode;
  const char* why;
};
const std::vector<Unreached>& UnreachedOpcodes();

Program MakeProgram(uint64_t seed, uint32_t statements);
// Of one statement, whose faults are compared.
Program MakeWildRows(uint64_t number);

}  // namespace semantics
