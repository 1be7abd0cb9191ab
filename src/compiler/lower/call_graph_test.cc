#include "compiler/lower/call_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "ptx/linker.h"
#include "ptx/parser.h"

namespace tutti::compiler::lowering {
namespace {

// Functions f0, f1, ..., each calling what its row names.
ptx::Module Calls(const std::vector<std::vector<uint32_t>>& rows) {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n";
  for (size_t f = 0; f < rows.size(); ++f) text += ".func f" + std::to_string(f) + "();\n";
  for (size_t f = 0; f < rows.size(); ++f) {
    text += ".func f" + std::to_string(f) + "() {\n";
    for (const uint32_t callee : rows[f]) text += "  call f" + std::to_string(callee) + ";\n";
    text += "  ret;\n}\n";
  }
  auto module = ptx::Parse(text);
  EXPECT_TRUE(module) << module.error().text;
  return std::move(*module);
}

uint32_t Number(const ptx::Module& module, size_t f) {
  const std::string name = "f" + std::to_string(f);
  for (uint32_t i = 0; i < module.functions.size(); ++i) {
    if (module.functions[i].name == name) return i;
  }
  ADD_FAILURE() << name;
  return 0;
}

// By definition: what can be reached by calls from `f`, one call at least.
bool ReachesItself(const std::vector<std::vector<uint32_t>>& rows, uint32_t f) {
  std::vector<bool> seen(rows.size());
  std::vector<uint32_t> work = rows[f];
  while (!work.empty()) {
    const uint32_t next = work.back();
    work.pop_back();
    if (next == f) return true;
    if (seen[next]) continue;
    seen[next] = true;
    work.insert(work.end(), rows[next].begin(), rows[next].end());
  }
  return false;
}

TEST(CallGraph, AFunctionIsRecursiveIfCallsLeadBackToIt) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<uint32_t>> rows(1 + random() % 12);
    for (auto& row : rows) {
      row.resize(random() % 3);
      for (uint32_t& callee : row) callee = static_cast<uint32_t>(random() % rows.size());
    }
    const ptx::Module module = Calls(rows);
    const CallGraph graph(module);
    for (uint32_t f = 0; f < rows.size(); ++f) {
      EXPECT_EQ(graph.recursive(Number(module, f)), ReachesItself(rows, f)) << "f" << f << " of round " << round;
    }
  }
}

// A search from each function would take 10^10 steps here, and one that calls itself for each call the thread's stack.
TEST(CallGraph, AChainOfAHundredThousandFunctionsIsLookedAtOnce) {
  constexpr uint32_t kFunctions = 100'000;
  std::vector<std::vector<uint32_t>> rows(kFunctions);
  for (uint32_t f = 0; f + 1 < kFunctions; ++f) rows[f] = {f + 1};
  const ptx::Module module = Calls(rows);
  const CallGraph graph(module);
  for (uint32_t f = 0; f < kFunctions; ++f) ASSERT_FALSE(graph.recursive(f));
}

// Two units share a table of functions; the kernel is in the second, with a function of 1, 3 and 9 adds.
TEST(CallGraph, OfATableThatIsTooLargeAKernelReachesTheSmallestOfItsUnit) {
  const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n";
  const auto function = [](const std::string& name, int adds) {
    std::string text = ".visible .func " + name + "() {\n  .reg .b32 %r;\n  mov.u32 %r, 0;\n";
    for (int i = 0; i < adds; ++i) text += "  add.u32 %r, %r, 1;\n";
    return text + "  ret;\n}\n";
  };
  std::vector<ptx::Module> units;
  units.push_back(ptx::Parse(head + function("other", 1)).value());
  units.push_back(ptx::Parse(head + ".extern .func other();\n" + function("nine", 9) + function("one", 1) +
                             function("three", 3) +
                             ".visible .global .u64 table[4] = {other, nine, one, three};\n"
                             ".visible .entry k() {\n  .reg .b64 %d;\n  mov.u64 %d, table;\n"
                             "  ld.global.u64 %d, [%d];\n  P: .callprototype _ ();\n  call %d, (), P;\n  ret;\n}\n")
                      .value());
  const auto linked = ptx::Link(std::move(units));
  ASSERT_TRUE(linked) << linked.error().text;
  const auto reached = [&](const CallGraph::Limits& limits) {
    const CallGraph graph(*linked, limits);
    std::vector<std::string> names;
    for (uint32_t f = 0; f < linked->functions.size(); ++f) {
      if (!linked->functions[f].is_entry) continue;
      for (const uint32_t g : graph.Reach(f)) names.push_back(linked->functions[g].name);
    }
    return names;
  };
  EXPECT_THAT(reached({}), testing::UnorderedElementsAre("k", "other", "nine", "one", "three"));
  EXPECT_THAT(reached({.taken = 10, .of_unit = 10}), testing::UnorderedElementsAre("k", "one", "three"));
  EXPECT_THAT(reached({.taken = 10, .of_unit = 1000}), testing::UnorderedElementsAre("k", "nine", "one", "three"));
}

}  // namespace
}  // namespace tutti::compiler::lowering
