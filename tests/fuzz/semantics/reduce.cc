#include "reduce.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace semantics {
namespace {

// Of one block, or of some of its threads, by those who read values of `bytes`: what the others read is lost.
void NarrowInputs(std::vector<uint8_t>& inputs, uint32_t block, uint32_t first = 0, uint32_t threads = kThreads,
                  uint32_t bytes = 16) {
  std::vector<uint8_t> narrow(inputs.size());
  for (uint32_t entry = 0; entry < kEntries; ++entry) {
    for (uint32_t part = 0; part < 16; part += bytes) {
      const uint8_t* from =
          &inputs[size_t{block} * kThreads * kInputBytes + (16 * entry + part) * kThreads + first * bytes];
      std::memcpy(&narrow[(16 * entry + part) * threads], from, threads * bytes);
    }
  }
  inputs = std::move(narrow);
}

// One warp, and the width of what it reads: most of a reduced program reads values of one width. Not fewer threads:
// what an operation reads of lanes that are not there is defined nowhere.
struct Narrower {
  uint32_t threads, bytes;
};
constexpr Narrower kNarrower[] = {{32, 4}, {32, 8}, {32, 2}, {32, 16}};

}  // namespace

// Drops statements, many at a time, then few, as long as `still` holds.
void Shrink(Program& program, const std::function<bool()>& still) {
  std::vector<Statement*> all = program.All();
  for (size_t chunk = std::max<size_t>(all.size() / 2, 1);; chunk /= 2) {
    for (size_t at = 0; at < all.size(); at += chunk) {
      std::vector<Statement*> dropped;
      for (size_t i = at; i < std::min(at + chunk, all.size()); ++i) {
        if (all[i]->dropped) continue;
        all[i]->dropped = true;
        dropped.push_back(all[i]);
      }
      if (dropped.empty() || still()) continue;
      for (Statement* statement : dropped) statement->dropped = false;
    }
    if (chunk == 1) break;
  }
}

std::string FormsLeft(const Program& program) {
  std::string text;
  const std::function<void(const std::vector<Statement>&)> visit = [&](const std::vector<Statement>& list) {
    for (const Statement& statement : list) {
      if (statement.dropped) continue;
      text += (text.empty() ? "" : " + ") + statement.form;
      visit(statement.children);
      visit(statement.others);
    }
  };
  visit(program.statements);
  return text;
}

Reduced Reduce(Runner& runner, const Program& program, Judge judge) {
  Reduced reduced{.program = program};
  Program& smallest = reduced.program;
  Extent& extent = reduced.extent;
  const auto differences = [&] {
    const Run expected = runner.Execute(smallest, Judge::kInterpreter, extent);
    if (!expected.error.empty()) return std::vector<Difference>();  // what waits for other threads would wait for ever
    const Run got = runner.Execute(smallest, judge, extent);
    if (!got.error.empty()) return std::vector<Difference>();
    reduced.expected = expected.output;
    return Compare(smallest, expected, got, extent);
  };
  const std::vector<uint8_t> all = runner.inputs();
  const auto first = differences();
  if (first.empty()) return reduced;
  NarrowInputs(runner.inputs(), first[0].block);
  extent.blocks = 1;
  if (differences().empty()) {  // it takes what an earlier block did
    runner.inputs() = all;
    extent.blocks = kBlocks;
  }
  Shrink(smallest, [&] { return !differences().empty(); });
  const auto left = differences();
  const std::vector<uint8_t> block = runner.inputs();
  for (const auto& [threads, bytes] : kNarrower) {
    if (left.empty() || extent.blocks != 1) break;
    extent.threads = threads;
    NarrowInputs(runner.inputs(), 0, left[0].thread / threads * threads, threads, bytes);
    if (!differences().empty()) break;
    runner.inputs() = block;
    extent.threads = kThreads;
  }
  reduced.differences = differences();
  reduced.inputs = runner.inputs();
  runner.inputs() = all;
  return reduced;
}

}  // namespace semantics
