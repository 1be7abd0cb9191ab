#include "compiler/contract/intrinsics.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <vector>

namespace tutti::compiler {
namespace {

// "a.{b,c}.d": a.b.d, a.c.d
std::vector<std::string> Spelled(const std::string& name) {
  const size_t open = name.find('{');
  const size_t close = name.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return {name};
  std::vector<std::string> all;
  std::string choices = name.substr(open + 1, close - open - 1) + ",";
  for (size_t end = 0; (end = choices.find(',')) != std::string::npos; choices.erase(0, end + 1)) {
    for (const std::string& one : Spelled(name.substr(0, open) + choices.substr(0, end) + name.substr(close + 1)))
      all.push_back(one);
  }
  return all;
}

// The functions that rows of the page's table name; families whose members are not all spelled end in a dot.
std::set<std::string> Documented() {
  std::ifstream page(TUTTI_IR_CONTRACT);
  std::set<std::string> names;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(0, line.find('|', 2));
    static const std::regex kName(R"(tutti\.[a-z_0-9.]+(\{[a-z_0-9,]+\})?[a-z_0-9.]*)");
    for (std::sregex_iterator at(cell.begin(), cell.end(), kName), end; at != end; ++at) {
      for (const std::string& name : Spelled(at->str())) names.insert(name);
    }
  }
  return names;
}

// The same of the table.
std::set<std::string> Listed() {
  std::set<std::string> names;
  for (const IntrinsicRow& row : kIntrinsics) {
    const std::string name = std::string(kIntrinsicPrefix).append(row.name);
    if (row.members.empty()) names.insert(name);
    if (row.members == "*") names.insert(name + ".");
    std::string members = row.members == "*" || row.members.empty() ? "" : std::string(row.members) + " ";
    for (size_t end = 0; (end = members.find(' ')) != std::string::npos; members.erase(0, end + 1))
      names.insert(name + "." + members.substr(0, end));
  }
  return names;
}

TEST(Intrinsics, ThePageAndTheTableNameTheSameFunctions) { EXPECT_EQ(Documented(), Listed()); }

TEST(Intrinsics, AreFoundByTheirWholeNames) {
  EXPECT_EQ(FindIntrinsic("tutti.shfl.idx.i32")->kind, Intrinsic::kShfl);
  EXPECT_EQ(FindIntrinsic("tutti.barrier")->kind, Intrinsic::kBarrier);
  EXPECT_EQ(FindIntrinsic("tutti.barrier.red.popc")->kind, Intrinsic::kBarrierReduce);
  EXPECT_EQ(FindIntrinsic("tutti.fn.sin.f32")->kind, Intrinsic::kFunction);
  for (const char* wrong : {"tutti.shfl.idz.i32", "tutti.shfl", "tutti.barrier.and", "tutti.tid", "tutti.tid.w",
                            "tutti.fn.", "tutti.kernel", "fn.sin", "tutti."})
    EXPECT_EQ(FindIntrinsic(wrong), nullptr) << wrong;
}

}  // namespace
}  // namespace tutti::compiler
