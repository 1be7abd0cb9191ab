// A generated program: a tree of statements, any of which can be left out, and the results that each of them stores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "ptx/ast.h"
#include "ptx/opcode.h"
#include "tolerance.h"

namespace semantics {

inline constexpr uint32_t kBlocks = 8;           // each with inputs of its own: running is cheap, compiling is not
inline constexpr uint32_t kThreads = 64;         // of a block: two warps
inline constexpr uint32_t kInputBytes = 1024;    // of each thread: 64 entries of 16 bytes
inline constexpr uint32_t kEntries = kInputBytes / 16;
inline constexpr uint32_t kScratchBytes = 4096;  // of each thread, zeros at first

// Inputs by kind: entry i is of kind i / 8.
//
// A block's inputs are entry after entry, an entry is 16 bytes for each thread. Threads read one entry side by side, as
// values of 2, 4, 8 or 16 bytes: so a load of all lanes is one of the processor's, not 32, and a program compiles in a
// fifth of the time. Results are stored the same way. Scattered reads occur in the statements about memory, and in one
// load in eight.
enum class Kind : uint32_t { kInteger, kFloat, kDouble, kHalf, kTame, kAngle, kTameDouble, kTameHalf };

// Bytes in which a value of the type is loaded and stored.
constexpr uint32_t StoredBytes(tutti::ptx::Type type) {
  return type == tutti::ptx::Type::kPred ? 4 : std::max(2u, tutti::ptx::BitsOf(type) / 8);
}

// The text with places for `threads` threads a block: "[%in4+48*T]", "48*T+4" are numbers then.
std::string PlaceFor(const std::string& text, uint32_t threads);

// A result that a statement stores at `offset` of each thread's output.
struct Result {
  uint32_t offset = 0;
  tutti::ptx::Type type = tutti::ptx::Type::kB32;
  Tolerance tolerance;
};

struct Statement {
  std::string form;  // for the report: "add.rn.f32", "shfl"
  std::string text;  // PTX before the children
  std::vector<Statement> children;
  std::string between;  // before the others
  std::vector<Statement> others;
  std::string end;
  std::vector<Result> results;
  bool dropped = false;
};

struct Program {
  uint64_t seed = 0;
  std::vector<Statement> statements;
  uint32_t output_bytes = 0;  // of each thread

  std::string Text(uint32_t threads = kThreads) const { return PlaceFor(Pattern(), threads); }
  // Before PlaceFor.
  std::string Pattern() const;
  std::vector<Result> Results() const;
  // The innermost statement with that line of the text; null: none.
  const Statement* At(uint32_t line) const;
  // Every statement, parents before children.
  std::vector<Statement*> All();
  // The opcodes of the text.
  std::set<tutti::ptx::Opcode> Opcodes() const;

 private:
  std::string Beginning() const;
  // Whether a statement names %x0 to %x7, which are live through the program.
  bool Names(uint32_t x) const;
};

}  // namespace semantics
