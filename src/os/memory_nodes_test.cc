#include "os/memory_nodes.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace tutti::os {
namespace {

TEST(MemoryNodes, ListsOfProcessorsAreRead) {
  EXPECT_EQ(ProcessorsIn("0-2,8,10-11\n"), (std::vector<int>{0, 1, 2, 8, 10, 11}));
  EXPECT_EQ(ProcessorsIn("\n"), std::vector<int>()) << "a node of memory alone";
  EXPECT_EQ(ProcessorsIn("x,3-,-4,5"), std::vector<int>{5});
  EXPECT_EQ(ProcessorsIn("1020-9999999").size(), CPU_SETSIZE - 1020u);
}

TEST(MemoryNodes, EachNodeGetsThreadsByItsProcessors) {
  EXPECT_EQ(SpreadOverNodes({{0, 1}, {2, 3}}, 4), (std::vector<size_t>{0, 0, 1, 1}));
  EXPECT_EQ(SpreadOverNodes({{0, 1, 2}, {3}}, 8), (std::vector<size_t>{0, 0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(SpreadOverNodes({{}, {7}}, 2), (std::vector<size_t>{1, 1}));
  EXPECT_TRUE(SpreadOverNodes({}, 3).empty());
}

TEST(MemoryNodes, AThreadStaysWhereItIsTold) {
  const auto nodes = NodesOfThisThread();
  if (nodes.empty()) GTEST_SKIP() << "the system does not tell";
  int allowed = 0, processor = -1;
  std::thread([&] {
    const int last = nodes.back().back();
    StayOn({last});
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    allowed = CPU_COUNT(&set);
    if (CPU_ISSET(last, &set)) processor = last;
    StayOn({});
  }).join();
  EXPECT_EQ(allowed, 1);
  EXPECT_EQ(processor, nodes.back().back());
}

}  // namespace
}  // namespace tutti::os
