// Rows whose loop a compiler has unrolled, of many kinds: beside the scalar code they are written as.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {
namespace {

constexpr uint32_t kRows = 40, kTable = 128, kWords = 70000, kResults = kTable + kWords;
constexpr const char* kRolled = "rolled";  // in the names of what is made

struct Unrolled {
  const char* type = "i32";  // of the counter
  const char* widen = "zext";
  int rounds = 4;
  bool rest_first = true;
  bool wraps = false;  // an index, after 65,536 words, where a loop begins
  // Of the unrolled loop, to make it another one: the last round's distance and operation.
  int last_word = 3;
  const char* last_operation = "add";
  bool has_flag = false;  // whether there was a round: each loop leaves a constant
  bool is_narrow = false;  // the rest that comes first has an index of its own, of 16 bits
  int work = 0;  // operations more in a round
  bool is_nested = false;  // in a loop of three rounds, each of which begins and ends a word further
};

// One round: sum = 3 sum + p1[i], of the word at `address`.
std::string Round(const std::string& name, const std::string& address, const std::string& sum,
                  const std::string& operation = "add", int line = 71, int work = 0) {
  std::string worked, from = sum;
  for (int i = 0; i < work; ++i) {
    const std::string to = fmt::format("%{}.w{}", name, i);
    worked += fmt::format("  {} = {} i32 {}, {}\n", to, i % 2 == 0 ? "xor" : "mul", from, 2 * i + 3);
    from = to;
  }
  return fmt::format(R"(  %{0}.p = inttoptr i64 {1} to ptr addrspace(1)
  %{0}.x = load i32, ptr addrspace(1) %{0}.p, !tutti.loc !{{i32 {4}, i32 0, i32 0}}
{5}  %{0}.t = mul i32 {2}, 3
  %{0} = {3} i32 %{0}.t, %{0}.x
)",
                     name, address, from, operation, line, worked);
}

// Row t goes from p0[2 t] to p0[2 t + 1] in p1, and its sum to p2[t]; p2[kRows + t] is where it stopped.
std::string KernelOf(const Unrolled& loop) {
  const std::string type = loop.type;
  std::string rounds, sum = "%msum";
  for (int k = 0; k < loop.rounds; ++k) {
    const bool is_last = k == loop.rounds - 1;
    const std::string name = fmt::format("r{}", k);
    rounds += fmt::format("  %{}.a = add i64 %ma, {}\n", name, 4 * (is_last ? loop.last_word : k));
    rounds += Round(name, "%" + name + ".a", sum, is_last ? loop.last_operation : "add", 80 + k, loop.work);
    sum = "%" + name;
  }
  const auto address = [&](const char* name, const char* index) {
    return fmt::format(
        "  %{0}m = and {3} {1}, {4}\n  %{0}w = {2} {3} %{0}m to i64\n  %{0}4 = shl i64 %{0}w, 2\n"
        "  %{0} = add i64 %p1, %{0}4\n",
        name, index, loop.widen, type, loop.wraps ? 65535 : -1);
  };
  // Each begins at %NAMEi with %NAMEs, from block FROM, and is left for NAMEend.
  const auto rest = [&](const char* from, const char* i, const char* s) {
    return fmt::format(R"(rest:
  %left = phi {0} [ %few, %{1} ], [ %fewer, %rest ]
  %ri = phi {0} [ {2}, %{1} ], [ %rnext, %rest ]
  %rmoved = phi i64 [ 0, %{1} ], [ %rfurther, %rest ]
  %rsum = phi i32 [ {3}, %{1} ], [ %rs, %rest ]
{5}{6}{4}  %rfurther = add i64 %rmoved, 4
  %rnext = add {0} %ri, 1
  %fewer = add {0} %left, -1
  %over = icmp eq {0} %fewer, 0
  br i1 %over, label %restend, label %rest
restend:
)",
                       type, from, i, s, Round("rs", "%rp", "%rsum", "add", 71, loop.work),
                       loop.is_narrow ? "  %rn = phi i16 [ %narrow, %before ], [ %rn1, %rest ]\n" : "",
                       loop.is_narrow ? "  %rnw = zext i16 %rn to i64\n  %rn4 = shl i64 %rnw, 2\n"
                                        "  %rp = add i64 %p1, %rn4\n  %rn1 = add i16 %rn, 1\n"
                                      : "  %rp = add i64 %ra, %rmoved\n");
  };
  const auto main = [&](const char* from, const char* i, const char* s) {
    return fmt::format(R"(main:
  %mi = phi {0} [ {2}, %{1} ], [ %mnext, %main ]
  %moved = phi i64 [ 0, %{1} ], [ %further, %main ]
  %msum = phi i32 [ {3}, %{1} ], [ {4}, %main ]
  %ma = add i64 %mb, %moved
{5}  %further = add i64 %moved, {6}
  %mnext = add {0} %mi, {7}
  %again = icmp ne {0} %mnext, {8}
  br i1 %again, label %main, label %mainend
mainend:
)",
                       type, from, i, s, sum, rounds, 4 * loop.rounds, loop.rounds,
                       loop.rest_first ? "%end" : "%middle");
  };
  std::string body = fmt::format(R"(  %t = zext i32 %tx to i64
  %t4 = shl i64 %t, 2
  %t8 = shl i64 %t, 3
  %sa = add i64 %p0, %t8
  %sp = inttoptr i64 %sa to ptr addrspace(1)
  %sl = load i32, ptr addrspace(1) %sp
  %ea = add i64 %sa, 4
  %ep = inttoptr i64 %ea to ptr addrspace(1)
  %el = load i32, ptr addrspace(1) %ep
  %start = {1} i32 %sl to {0}
  %end = {1} i32 %el to {0}
  %length = sub {0} %end, %start
  %few = and {0} %length, {2}
  %many = sub {0} %length, %few
  %middle = add {0} %start, %many
  %none = icmp eq {0} %few, 0
  %short = icmp eq {0} %many, 0
  %low = trunc i32 %sl to i16
  %narrow = and i16 %low, 255
)",
                                 type,
                                 type == "i32"   ? "bitcast"
                                 : type == "i16" ? "trunc"
                                                 : "sext",
                                 loop.rounds - 1);
  if (loop.rest_first) {
    body += "  br i1 %none, label %join, label %before\nbefore:\n" + address("ra", "%start") + "  br label %rest\n" +
            rest("before", "%start", "1") + "  br label %join\njoin:\n" +
            fmt::format("  %ji = phi {} [ %start, %0 ], [ %rnext, %restend ]\n", type) +
            "  %js = phi i32 [ 1, %0 ], [ %rs, %restend ]\n  br i1 %short, label %done, label %between\nbetween:\n" +
            address("mb", "%ji") + "  br label %main\n" + main("between", "%ji", "%js") + "  br label %done\ndone:\n" +
            fmt::format("  %at = phi {} [ %ji, %join ], [ %mnext, %mainend ]\n", type) +
            fmt::format("  %all = phi i32 [ %js, %join ], [ {}, %mainend ]\n", sum);
  } else {
    body += "  br i1 %short, label %join, label %before\nbefore:\n" + address("mb", "%start") + "  br label %main\n" +
            main("before", "%start", "1") + "  br label %join\njoin:\n" +
            fmt::format("  %ji = phi {} [ %start, %0 ], [ %mnext, %mainend ]\n", type) +
            fmt::format("  %js = phi i32 [ 1, %0 ], [ {}, %mainend ]\n", sum) +
            "  br i1 %none, label %done, label %between\nbetween:\n" + address("ra", "%ji") + "  br label %rest\n" +
            rest("between", "%ji", "%js") + "  br label %done\ndone:\n" +
            fmt::format("  %at = phi {} [ %ji, %join ], [ %rnext, %restend ]\n", type) +
            "  %all = phi i32 [ %js, %join ], [ %rs, %restend ]\n";
  }
  if (loop.has_flag) {
    const auto flag = [&](const char* name, const std::string& none, const char* skips, const char* ends) {
      return fmt::format("  %{} = phi i32 [ {}, %{} ], [ 5, %{} ]\n", name, none, skips, ends);
    };
    const char *first = loop.rest_first ? "restend" : "mainend", *second = loop.rest_first ? "mainend" : "restend";
    body.insert(body.find("join:\n") + 6, flag("jf", "0", "0", first));
    body.insert(body.find("done:\n") + 6, flag("flag", "%jf", "join", second));
    body += "  %sum = add i32 %all, %flag\n";
  } else {
    body += "  %sum = add i32 %all, 0\n";
  }
  if (loop.is_nested) {
    const auto replace = [&](const std::string& from, const std::string& to) {
      for (size_t at = body.find(from); at != std::string::npos; at = body.find(from, at + to.size()))
        body.replace(at, from.size(), to);
    };
    replace(", %0 ]", ", %outer ]");
    replace("[ 1, ", "[ %osum, ");
    body.insert(body.find("  %start = "),
                "  br label %outer\nouter:\n  %o = phi i32 [ 0, %0 ], [ %on, %done ]\n"
                "  %osum = phi i32 [ 1, %0 ], [ %all, %done ]\n  %sl2 = add i32 %sl, %o\n  %el2 = add i32 %el, %o\n");
    replace("%start = bitcast i32 %sl to", "%start = bitcast i32 %sl2 to");
    replace("%end = bitcast i32 %el to", "%end = bitcast i32 %el2 to");
    body += "  %on = add i32 %o, 1\n  %ended = icmp eq i32 %on, 3\n  br i1 %ended, label %out, label %outer\nout:\n";
  }
  body += fmt::format(R"(  %ya = add i64 %p2, %t4
  %yp = inttoptr i64 %ya to ptr addrspace(1)
  store i32 %sum, ptr addrspace(1) %yp
  %za = add i64 %ya, {}
  %zp = inttoptr i64 %za to ptr addrspace(1)
  %stopped = {} {} %at to i32
  store i32 %stopped, ptr addrspace(1) %zp
  ret void
)",
                      4 * kRows,
                      type == "i32"   ? "bitcast"
                      : type == "i16" ? "zext"
                                      : "trunc",
                      type);
  return KernelText(body);
}

class RolledLoops : public ::testing::TestWithParam<Unrolled> {
 protected:
  RolledLoops() {
    for (uint32_t i = 0; i < kWords; ++i) words_[kTable + i] = i * i + 7;
  }

  GridLaunch Launch() {
    GridLaunch launch{.block = {kRows, 1, 1}};
    launch.window_base = address(0);
    launch.window_bytes = 4 * words_.size();
    launch.Param(address(0)).Param(address(kTable)).Param(address(kResults)).Param(0u);
    return launch;
  }
  std::vector<uint32_t> Results() const { return {words_.begin() + kResults, words_.end()}; }
  void Forget() { std::fill(words_.begin() + kResults, words_.end(), 0); }

  // Row t has `length(t)` entries from `start(t)` on.
  template <typename Start, typename Length>
  void ComparesAsScalarCode(const Unrolled& loop, const Start& start, const Length& length) {
    for (uint32_t t = 0; t < kRows; ++t) {
      words_[2 * t] = start(t);
      words_[2 * t + 1] = start(t) + length(t);
    }
    auto scalar = ScalarKernel::Build(KernelOf(loop));
    ASSERT_TRUE(scalar) << scalar.error().text;
    Forget();
    scalar->Run(Launch());
    const std::vector<uint32_t> expected = Results();
    for (const char* cpu : {"x86-64-v3", ""}) {
      const TestTarget target{.target = *cpu != 0 ? HostTarget::Named(cpu) : HostTarget::Detect(),
                              .block = {kRows, 1, 1},
                              .lane_after_lane = true};
      auto kernel = BuildWarps(KernelOf(loop), target);
      ASSERT_TRUE(kernel) << kernel.error().text;
      Forget();
      ASSERT_FALSE(RunGrid(kernel->descriptor(), Launch()).fault);
      EXPECT_EQ(Results(), expected);
    }
  }

  uint64_t address(uint32_t i) { return reinterpret_cast<uint64_t>(&words_[i]); }
  std::vector<uint32_t> words_ = std::vector<uint32_t>(kResults + 2 * kRows);
};

bool IsRolled(const Unrolled& loop) {
  const auto text = WidenText(KernelOf(loop), {.block = {kRows, 1, 1}, .optimize = 0, .lane_after_lane = true});
  EXPECT_TRUE(text) << text.error().text;
  return text && text->find(kRolled) != std::string::npos;
}

TEST_P(RolledLoops, MakeTheSameRounds) {
  EXPECT_TRUE(IsRolled(GetParam()));
  const auto start = [](uint32_t t) { return t * (t + 1) / 2; };
  ComparesAsScalarCode(GetParam(), start, [](uint32_t t) { return t; });
  // Of one length, with and without a rest.
  ComparesAsScalarCode(GetParam(), start, [](uint32_t) { return 16; });
  ComparesAsScalarCode(GetParam(), start, [](uint32_t) { return 3; });
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, RolledLoops,
    ::testing::Values(Unrolled{.rest_first = true}, Unrolled{.rest_first = false},
                      Unrolled{.rounds = 8, .rest_first = true, .last_word = 7},
                      Unrolled{.rounds = 2, .rest_first = false, .last_word = 1},
                      Unrolled{.widen = "sext", .rest_first = true},
                      Unrolled{.type = "i64", .widen = "bitcast", .rest_first = true},
                      Unrolled{.type = "i64", .widen = "bitcast", .rounds = 8, .rest_first = false, .last_word = 7},
                      Unrolled{.rest_first = true, .wraps = true}, Unrolled{.rest_first = false, .wraps = true},
                      Unrolled{.type = "i16", .rest_first = false}, Unrolled{.rest_first = true, .has_flag = true},
                      Unrolled{.rest_first = false, .has_flag = true}, Unrolled{.rest_first = true, .is_nested = true},
                      Unrolled{.rest_first = false, .is_nested = true}));

// The rest's few rounds do not wrap an index that all rounds together do.
TEST_F(RolledLoops, AnIndexThatTheRestDoesNotWrapMayWrapInAllRounds) {
  ComparesAsScalarCode(
      {.rest_first = true, .is_narrow = true}, [](uint32_t t) { return t; },
      [](uint32_t t) { return t % 8 == 5 ? 65536 + 64 * t : t; });
}

// An index that wraps between the two loops, but not within the first, as that goes by an address.
TEST_F(RolledLoops, AnIndexThatWrapsDoesSoWhereItDid) {
  for (const bool rest_first : {true, false}) {
    SCOPED_TRACE(rest_first);
    for (const uint32_t before : {1u, 2u, 3u, 4u, 5u, 6u, 9u}) {
      ComparesAsScalarCode(
          {.rest_first = rest_first, .wraps = true}, [&](uint32_t t) { return 65536 - before - t % 3; },
          [](uint32_t t) { return t; });
    }
  }
}

// By 32 bits: the rest goes on by its address, and the unrolled loop begins with its index anew, far below.
TEST_F(RolledLoops, RowsThatPassTheLastIndexStayTwoLoops) {
  constexpr uint32_t kRow = 3, kBefore = 2;
  for (uint32_t t = 0; t < kRows; ++t) words_[2 * t] = words_[2 * t + 1] = 0;
  words_[2 * kRow] = 0u - kBefore;
  words_[2 * kRow + 1] = 5;  // seven words: three by the rest, two of them in front of index 0
  auto kernel = BuildWarps(KernelOf({.rest_first = true}), {.block = {kRows, 1, 1}, .lane_after_lane = true});
  ASSERT_TRUE(kernel) << kernel.error().text;
  GridLaunch launch{.block = {kRows, 1, 1}};
  launch.window_base = address(0);
  launch.window_bytes = 4 * words_.size();
  const uint64_t first = address(kTable) + 4 * kBefore - 4 * (uint64_t{1} << 32);  // of index 0
  launch.Param(address(0)).Param(first).Param(address(kResults)).Param(0u);
  const auto fault = RunGrid(kernel->descriptor(), launch).fault;
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->thread, kRow);
  EXPECT_EQ(fault->address, first + 4);
  EXPECT_EQ(fault->ptx_line, 80u);
}

TEST_F(RolledLoops, LoopsThatDifferStayTwo) {
  EXPECT_FALSE(IsRolled({.last_word = 2}));
  EXPECT_FALSE(IsRolled({.last_operation = "sub"}));
  EXPECT_FALSE(IsRolled({.rest_first = false, .last_word = 4}));
  EXPECT_FALSE(IsRolled({.rest_first = false, .last_operation = "xor"}));
  for (const bool rest_first : {true, false}) {
    for (const Unrolled& loop : {Unrolled{.rest_first = rest_first, .last_word = 5},
                                 Unrolled{.rest_first = rest_first, .last_operation = "sub"}})
      ComparesAsScalarCode(loop, [](uint32_t t) { return 7 * t; }, [](uint32_t t) { return t; });
  }
}

// Hostile: what compares the two loops must not run out of its stack.
TEST_F(RolledLoops, LongRoundsStayTwoLoops) {
  EXPECT_TRUE(IsRolled({.work = 200}));
  EXPECT_FALSE(IsRolled({.work = 20000}));
}

// By the line of the loop of single rounds.
TEST_F(RolledLoops, AFaultNamesItsThreadAndAddress) {
  for (const bool rest_first : {true, false}) {
    for (uint32_t t = 0; t < kRows; ++t) words_[2 * t + 1] = (words_[2 * t] = 5 * t) + t % 9;
    constexpr uint32_t kRow = 17;
    words_[2 * kRow + 1] = static_cast<uint32_t>(words_.size()) + 100;
    auto kernel = BuildWarps(KernelOf({.rest_first = rest_first}), {.block = {kRows, 1, 1}, .lane_after_lane = true});
    ASSERT_TRUE(kernel) << kernel.error().text;
    const auto fault = RunGrid(kernel->descriptor(), Launch()).fault;
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->thread, kRow);
    EXPECT_EQ(fault->address, address(static_cast<uint32_t>(words_.size())));
    EXPECT_EQ(fault->ptx_line, 71u);
  }
}

}  // namespace
}  // namespace tutti::compiler
