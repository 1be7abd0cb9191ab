// A program made for the comparison: a tree of statements, any of which can be left out, and what each of them stores.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "ptx/opcode.h"
#include "ptx/ast.h"

namespace semantics {

inline constexpr uint32_t kThreads = 64;
inline constexpr uint32_t kInputBytes = 1024;    // of each thread: 64 entries of 16 bytes, see Inputs
inline constexpr uint32_t kScratchBytes = 4096;  // of each thread, zeros at first

// Inputs by kind: entry i of a thread is of kind i / 8.
enum class Kind : uint32_t { kInteger, kFloat, kDouble, kHalf, kTame, kAngle, kTameDouble, kTameHalf };

// A result that a statement stores at `offset` of each thread's output.
struct Result {
  uint32_t offset = 0;
  tutti::ptx::Type type = tutti::ptx::Type::kB32;
  double relative = 0, absolute = 0;  // the tolerance; 0: to the bit
};

struct Statement {
  std::string form;   // for the report: "add.rn.f32", "shfl"
  std::string text;   // PTX before the children
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

  std::string Text() const;
  std::vector<Result> Results() const;
  // The innermost statement with that line of the text; null: none.
  const Statement* At(uint32_t line) const;
  // Every statement, parents before children.
  std::vector<Statement*> All();
  // The opcodes of the text.
  std::set<tutti::ptx::Opcode> Opcodes() const;

 private:
  std::string Beginning() const;
};

}  // namespace semantics
