// Which kernels' blocks may begin in any order: those in which none can wait for another one.
#include <gtest/gtest.h>

#include <string>

#include "compiler/widen/testing/test_kernel.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

// Whether the kernel's descriptor says so. `more`: what the body calls.
bool InAnyOrder(const std::string& body, const std::string& more = "") {
  const auto kernel = BuildWarps(KernelText(body) + more, {.block = {64, 1, 1}});
  EXPECT_TRUE(kernel) << kernel.error().text;
  return kernel && (kernel->descriptor().flags & guest::kBlocksInAnyOrder) != 0;
}

// A loop of i = 0, 1, ... over the words at %p0, each loaded to %word: `steps`, which say whether it `%goes_on`. Behind
// it %end is where it is.
std::string Loop(const std::string& steps) {
  return R"(
  %data = inttoptr i64 %p0 to ptr addrspace(1)
  %to = inttoptr i64 %p1 to ptr addrspace(1)
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %way ]
  %next = add i32 %i, 1
  %at = getelementptr i32, ptr addrspace(1) %data, i32 %i
  %word = load i32, ptr addrspace(1) %at
  %left = icmp ult i32 %next, %n
)" + steps +
         R"(
  br label %way
way:
  br i1 %goes_on, label %loop, label %done
done:
  store i32 %next, ptr addrspace(1) %to
  ret void
)";
}

TEST(BlockWaits, ALoopWhoseEndIsKnownBeforeItBeginsWaitsForNobody) {
  EXPECT_TRUE(InAnyOrder("  ret void\n"));
  EXPECT_TRUE(InAnyOrder(Loop("  store i32 %word, ptr addrspace(1) %to\n  %goes_on = and i1 %left, true\n")));
  // As a row of a sparse matrix: where it ends was read before it.
  EXPECT_TRUE(InAnyOrder(R"(
  %data = inttoptr i64 %p0 to ptr addrspace(1)
  %to = inttoptr i64 %p1 to ptr addrspace(1)
  br label %rows
rows:
  %row = phi i32 [ 0, %0 ], [ %next_row, %row_done ]
  %next_row = add i32 %row, 1
  %at = getelementptr i32, ptr addrspace(1) %data, i32 %row
  %end = load volatile i32, ptr addrspace(1) %at
  br label %row_loop
row_loop:
  %i = phi i32 [ 0, %rows ], [ %next, %row_loop ]
  %sum = phi i32 [ 0, %rows ], [ %more, %row_loop ]
  %next = add i32 %i, 1
  %element = getelementptr i32, ptr addrspace(1) %data, i32 %i
  %value = load i32, ptr addrspace(1) %element
  %more = add i32 %sum, %value
  %left = icmp slt i32 %next, %end
  br i1 %left, label %row_loop, label %row_done
row_done:
  store i32 %more, ptr addrspace(1) %to
  %rows_left = icmp slt i32 %next_row, %n
  br i1 %rows_left, label %rows, label %done
done:
  ret void
)"));
}

TEST(BlockWaits, WhatALoopReadsMayChooseWhatItDoesButNotWhetherItEnds) {
  const std::string branch = R"(
  %large = icmp ugt i32 %word, 7
  br i1 %large, label %stores, label %joins
stores:
  store i32 %word, ptr addrspace(1) %to
  br label %joins
joins:
)";
  EXPECT_TRUE(InAnyOrder(Loop(branch + "  %goes_on = and i1 %left, true\n")));
  EXPECT_FALSE(InAnyOrder(Loop("  %goes_on = icmp ne i32 %word, 7\n"))) << "a search may be a wait";
  EXPECT_FALSE(InAnyOrder(Loop("  %other = icmp ne i32 %word, 7\n  %goes_on = and i1 %left, %other\n")));
  EXPECT_FALSE(InAnyOrder(Loop(branch + "  %goes_on = phi i1 [ true, %stores ], [ %left, %loop ]\n")))
      << "which way it came from says it";
}

TEST(BlockWaits, AnExitThatIsReachedByWhatWasReadCounts) {
  EXPECT_FALSE(InAnyOrder(R"(
  %data = inttoptr i64 %p0 to ptr addrspace(1)
  %zero = icmp eq i32 %n, 0
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %way ]
  %at = getelementptr i32, ptr addrspace(1) %data, i32 %i
  %word = load i32, ptr addrspace(1) %at
  %set = icmp ne i32 %word, 0
  br i1 %set, label %exit, label %way
exit:
  store i32 %i, ptr addrspace(1) %at
  br i1 %zero, label %done, label %way
way:
  %next = xor i32 %i, 1
  br label %loop
done:
  ret void
)"));
}

TEST(BlockWaits, WhatIsReadCountsThroughOtherMemoryAndInnerLoops) {
  // How often the inner loop goes round.
  EXPECT_FALSE(InAnyOrder(Loop(R"(
  br label %inner
inner:
  %j = phi i32 [ 0, %loop ], [ %j_next, %inner ]
  %j_next = add i32 %j, 1
  %j_left = icmp ult i32 %j_next, %word
  br i1 %j_left, label %inner, label %inner_done
inner_done:
  %goes_on = icmp ne i32 %j_next, 7
)")));
  EXPECT_FALSE(InAnyOrder(Loop(R"(
  %slot = inttoptr i32 16 to ptr addrspace(3)
  store i32 %word, ptr addrspace(3) %slot
  %again = load i32, ptr addrspace(3) %slot
  %goes_on = icmp ne i32 %again, 7
)")));
}

TEST(BlockWaits, AtomicsWaitOnlyInALoopThatAsksThem) {
  const std::string add = "  %old = atomicrmw add ptr addrspace(1) %data, i32 1 monotonic\n";
  EXPECT_TRUE(InAnyOrder(Loop(add + "  %goes_on = and i1 %left, true\n")));
  EXPECT_FALSE(InAnyOrder(Loop(add + "  %goes_on = icmp ult i32 %old, %n\n")));
  EXPECT_FALSE(
      InAnyOrder(Loop("  %pair = cmpxchg ptr addrspace(1) %data, i32 0, i32 1 monotonic monotonic\n"
                      "  %had = extractvalue {i32, i1} %pair, 1\n  %goes_on = xor i1 %had, true\n")));
  // The last block to end sums up what the others have left.
  EXPECT_TRUE(InAnyOrder(R"(
  %data = inttoptr i64 %p0 to ptr addrspace(1)
  %count = inttoptr i64 %p1 to ptr addrspace(1)
  store i32 %tx, ptr addrspace(1) %data
  %before = atomicrmw add ptr addrspace(1) %count, i32 1 seq_cst
  %last = icmp eq i32 %before, %n
  br i1 %last, label %loop, label %done
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %more, %loop ]
  %next = add i32 %i, 1
  %at = getelementptr i32, ptr addrspace(1) %data, i32 %i
  %word = load volatile i32, ptr addrspace(1) %at
  %more = add i32 %sum, %word
  %left = icmp ult i32 %next, %n
  br i1 %left, label %loop, label %ready
ready:
  store i32 %more, ptr addrspace(1) %count
  br label %done
done:
  ret void
)"));
}

TEST(BlockWaits, BarriersOfTheBlockWaitForNoOtherOne) {
  EXPECT_TRUE(InAnyOrder(Loop("  call void @tutti.barrier(i32 0, i32 0, i1 true)\n  %goes_on = and i1 %left, true\n")));
  EXPECT_TRUE(
      InAnyOrder(Loop("  %sum = call {i32, i1} @tutti.shfl.idx.i32(i32 -1, i32 %i, i32 0, i32 31)\n"
                      "  %there = extractvalue {i32, i1} %sum, 0\n  %goes_on = icmp ult i32 %there, %n\n")));
  EXPECT_FALSE(
      InAnyOrder(Loop("  %sum = call {i32, i1} @tutti.shfl.idx.i32(i32 -1, i32 %word, i32 0, i32 31)\n"
                      "  %there = extractvalue {i32, i1} %sum, 0\n  %goes_on = icmp ult i32 %there, %n\n")));
}

TEST(BlockWaits, WhatIsCalledMayHaveRead) {
  EXPECT_FALSE(InAnyOrder(Loop("  %now = call i64 @tutti.clock()\n  %goes_on = icmp ult i64 %now, %p1\n"),
                          "declare i64 @tutti.clock()\n"));
  const std::string body = "  %found = call i32 @fn.found(i64 %p1)\n  %goes_on = icmp ult i32 %found, %n\n";
  EXPECT_FALSE(InAnyOrder(Loop(body), R"(
define internal i32 @fn.found(i64 %where) nounwind noinline {
  %at = inttoptr i64 %where to ptr addrspace(1)
  %found = load i32, ptr addrspace(1) %at
  ret i32 %found
}
)"));
}

TEST(BlockWaits, WhatWaitsByItselfOrIsNotSeenCounts) {
  for (const std::string name : {"yield", "grid_barrier"}) {
    EXPECT_FALSE(InAnyOrder("  call void @tutti." + name + "()\n  ret void\n", "declare void @tutti." + name + "()\n"))
        << name;
  }
  EXPECT_FALSE(InAnyOrder("  call void @tutti.cluster_barrier(i1 true)\n  ret void\n",
                          "declare void @tutti.cluster_barrier(i1)\n"));
  const std::string recursion = R"(
define internal i32 @fn.again(i32 %left) nounwind noinline {
  %done = icmp eq i32 %left, 0
  br i1 %done, label %end, label %again
again:
  %less = sub i32 %left, 1
  %sum = call i32 @fn.again(i32 %less)
  %more = add i32 %sum, %left
  ret i32 %more
end:
  ret i32 0
}
)";
  EXPECT_FALSE(InAnyOrder(R"(
  %sum = call i32 @fn.again(i32 %n)
  %to = inttoptr i64 %p0 to ptr addrspace(1)
  store i32 %sum, ptr addrspace(1) %to
  ret void
)",
                          recursion));
}

}  // namespace
}  // namespace tutti::compiler
