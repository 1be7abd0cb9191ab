// Accesses that together reach rows: what they do is what each of them did alone, in the program's order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kRowThreads = 64;
constexpr const char* kLevels[] = {"x86-64-v3", "x86-64-v4"};

bool HasLevel(const char* cpu) { return HostTarget::Detect().level >= HostTarget::Named(cpu).level; }

// %`base`_row = `base` + stride * t.
std::string RowsAt(const std::string& base, unsigned stride) {
  const std::string row = base + "_row";
  return "  " + row + "w = zext i32 %tx to i64\n  " + row + "b = mul i64 " + row + "w, " + std::to_string(stride) +
         "\n  " + row + " = add i64 " + base + ", " + row + "b\n";
}

class RowsBody {
 public:
  explicit RowsBody(std::string type, unsigned bytes) : type_(std::move(type)), bytes_(bytes) {}

  // Loads through bases of their own, which all are p2 where n is zero: more than an address check keeps in mind.
  void LoadThroughManyBases(unsigned count) {
    text_ += "  %nw = zext i32 %n to i64\n";
    std::string sum = "0";
    for (unsigned i = 0; i < count; ++i) {
      const std::string base = "%base" + std::to_string(i), more = "%sum" + std::to_string(i);
      text_ += "  " + base + "n = mul i64 %nw, " + std::to_string(2 * i + 3) + "\n  " + base + "a = add i64 %p2, " +
               base + "n\n  " + base + " = inttoptr i64 " + base + "a to ptr addrspace(1)\n  " + base +
               "v = load i32, ptr addrspace(1) " + base + ", align 4\n  " + more + " = add i32 " + sum + ", " + base +
               "v\n";
      sum = more;
    }
    text_ += "  %p2p = inttoptr i64 %p2 to ptr addrspace(1)\n  store i32 " + sum + ", ptr addrspace(1) %p2p, align 4\n";
  }
  // The element of the row at `base`; the name of its value.
  std::string Load(const std::string& base, int element) {
    const std::string pointer = Pointer(base, element), value = "%v" + std::to_string(++names_);
    text_ += "  " + value + " = load " + type_ + ", ptr addrspace(1) " + pointer + Tail();
    return value;
  }
  void Store(const std::string& base, int element, const std::string& value) {
    const std::string pointer = Pointer(base, element);
    text_ += "  store " + type_ + " " + value + ", ptr addrspace(1) " + pointer + Tail();
  }
  std::string Changed(const std::string& value) {
    const std::string changed = "%v" + std::to_string(++names_);
    text_ += "  " + changed + " = xor " + type_ + " " + value + ", 90\n";
    return changed;
  }
  std::string Sum(const std::vector<std::string>& values) {
    std::string sum = "0";
    for (const std::string& value : values) {
      const std::string more = "%v" + std::to_string(++names_);
      text_ += "  " + more + " = add " + type_ + " " + sum + ", " + value + "\n";
      sum = more;
    }
    return sum;
  }
  // Each access stands on a line of its own, the first on line 1.
  std::string Kernel(unsigned stride, uint32_t below) const {
    std::string text = KernelText("  %some = icmp ult i32 %tx, " + std::to_string(below) +
                                  "\n  br i1 %some, label %rows, label %done\nrows:\n" + RowsAt("%p0", stride) +
                                  RowsAt("%p1", stride) + text_ + "  br label %done\ndone:\n  ret void\n");
    for (unsigned line = 1; line <= lines_; ++line) {
      text += "\n!" + std::to_string(1000 + line) + " = !{i32 " + std::to_string(line) + ", i32 0, i32 0}";
    }
    return text + "\n";
  }

 private:
  std::string Pointer(const std::string& base, int element) {
    const std::string name = "%q" + std::to_string(++names_);
    text_ += "  " + name + "a = add i64 " + base + "_row, " + std::to_string(element * static_cast<int>(bytes_)) +
             "\n  " + name + " = inttoptr i64 " + name + "a to ptr addrspace(1)\n";
    return name;
  }
  std::string Tail() {
    return ", align " + std::to_string(bytes_) + ", !tutti.loc !" + std::to_string(1000 + ++lines_) + "\n";
  }

  std::string type_, text_;
  unsigned bytes_, names_ = 0, lines_ = 0;
};

std::string RowsText(const std::string& ir, bool check = true) {
  auto text =
      WidenText(ir, {.target = HostTarget::Named("x86-64-v4"), .block = {kRowThreads, 1, 1}, .check_addresses = check});
  return text ? *text : text.error().text;
}

GridResult RunRows(const std::string& ir, const char* cpu, const GridLaunch& launch) {
  auto kernel = BuildWarps(ir, {.target = HostTarget::Named(cpu), .block = {kRowThreads, 1, 1}});
  EXPECT_TRUE(kernel) << kernel.error().text << ir;
  return kernel ? RunGrid(kernel->descriptor(), launch) : GridResult{};
}

// p1[n t + i] = p0[n t + i] ^ 90 for all i below n.
RowsBody CopyOfRows(unsigned elements) {
  RowsBody body("i32", 4);
  std::vector<std::string> values;
  for (unsigned i = 0; i < elements; ++i) values.push_back(body.Changed(body.Load("%p0", static_cast<int>(i))));
  for (unsigned i = 0; i < elements; ++i) body.Store("%p1", static_cast<int>(i), values[i]);
  return body;
}

TEST(Rows, AreVectorsOfMemory) {
  for (const unsigned elements : {2u, 3u, 4u}) {
    const std::string text = RowsText(CopyOfRows(elements).Kernel(4 * elements, kRowThreads), false);
    EXPECT_THAT(text, HasSubstr("store <32 x i32>")) << elements;
    EXPECT_THAT(text, Not(HasSubstr("call void @llvm.masked.scatter"))) << elements;
    EXPECT_THAT(text, Not(HasSubstr("= call <32 x i32> @llvm.masked.gather"))) << elements;
  }
}

TEST(Rows, OfWhichSomethingIsNotStoredLeaveItAsItIs) {
  for (const char* cpu : kLevels) {
    if (!HasLevel(cpu)) continue;
    std::vector<uint32_t> from(4 * kRowThreads), to(from.size(), 7), expected = to;
    std::iota(from.begin(), from.end(), 1000u);
    for (uint32_t i = 0; i < from.size(); ++i) {
      if (i % 4 != 3) expected[i] = from[i] ^ 90;
    }
    RunRows(CopyOfRows(3).Kernel(16, kRowThreads), cpu,
            GridLaunch{.block = {kRowThreads, 1, 1}}.Param(from.data()).Param(to.data()).Param(uint64_t{0}).Param(0u));
    EXPECT_EQ(to, expected) << cpu;
  }
}

// Loads and stores of some elements in some order, where p0 and p1 may be the same memory, or a part of it.
TEST(Rows, AreAccessedInTheOrderOfTheProgram) {
  struct Type {
    const char* name;
    unsigned bytes;
  };
  std::mt19937 random(20);
  for (int round = 0; round < 30; ++round) {
    const Type type = std::vector<Type>{{"i8", 1}, {"i16", 2}, {"i32", 4}, {"i64", 8}}[random() % 4];
    const unsigned in_row = 2 + random() % 4;
    RowsBody body(type.name, type.bytes);
    std::vector<std::string> values = {body.Load("%p0", static_cast<int>(random() % in_row))};
    for (int access = 0; access < 10; ++access) {
      const std::string base = random() % 3 == 0 ? "%p1" : "%p0";
      const auto element = static_cast<int>(random() % in_row);
      if (random() % 2 == 0) {
        values.push_back(body.Changed(body.Load(base, element)));
      } else {
        body.Store(base, element, values[random() % values.size()]);
      }
    }
    const uint32_t below = random() % 2 == 0 ? kRowThreads : 45;
    const std::string ir = body.Kernel(type.bytes * in_row, below);
    // p1 is p0, or lies apart: rows of other threads are theirs alone.
    for (const bool same : {true, false}) {
      const size_t bytes = size_t{kRowThreads} * type.bytes * in_row;
      std::vector<uint8_t> written(2 * bytes);
      std::iota(written.begin(), written.end(), uint8_t{1});
      std::vector<uint8_t> expected = written;
      const auto launch = [&](std::vector<uint8_t>& memory) {
        return GridLaunch{.block = {kRowThreads, 1, 1}}
            .Param(memory.data())
            .Param(memory.data() + (same ? 0 : bytes))
            .Param(uint64_t{0})
            .Param(0u);
      };
      auto scalar = ScalarKernel::Build(ir);
      ASSERT_TRUE(scalar) << scalar.error().text;
      scalar->Run(launch(expected));
      for (const char* cpu : kLevels) {
        if (!HasLevel(cpu)) continue;
        std::vector<uint8_t> memory = written;
        EXPECT_FALSE(RunRows(ir, cpu, launch(memory)).fault);
        ASSERT_EQ(memory, expected) << cpu << (same ? " same " : " apart ") << ir;
      }
    }
  }
}

TEST(Rows, EndAtABarrier) {
  const std::string ir = KernelText(RowsAt("%p1", 8) + R"(
  %a = inttoptr i64 %p1_row to ptr addrspace(1)
  store i32 1, ptr addrspace(1) %a, align 4
  call void @tutti.barrier(i32 0, i32 0, i1 true)
  %bi = add i64 %p1_row, 4
  %b = inttoptr i64 %bi to ptr addrspace(1)
  store i32 2, ptr addrspace(1) %b, align 4
  ret void
)");
  EXPECT_THAT(RowsText(ir, false), HasSubstr("call void @llvm.masked.scatter"));
}

TEST(Rows, AFaultIsThatOfTheElement) {
  // Memory ends within the row of the last thread, behind its first element: the second load there, or the second store
  // if nothing is loaded, is the first access of all that is outside. It stands on line 2.
  for (const char* cpu : kLevels) {
    if (!HasLevel(cpu)) continue;
    for (const bool loads : {true, false}) {
      std::vector<uint32_t> inside(3 * kRowThreads);
      GridLaunch launch{.block = {kRowThreads, 1, 1}};
      launch.window_base = reinterpret_cast<uint64_t>(inside.data());
      launch.window_bytes = 4 * (63 * 3 + 1);
      RowsBody body("i32", 4);
      std::vector<std::string> values;
      for (int i = 0; i < 3; ++i) values.push_back(loads ? body.Load("%p0", i) : "1");
      for (int i = 0; i < 3; ++i) body.Store("%p1", i, values[static_cast<size_t>(i)]);
      launch.Param(inside.data()).Param(inside.data()).Param(uint64_t{0}).Param(0u);
      const GridResult result = RunRows(body.Kernel(12, kRowThreads), cpu, launch);
      ASSERT_TRUE(result.fault) << cpu;
      EXPECT_EQ(result.fault->kind, guest::FaultKind::kIllegalAddress);
      EXPECT_EQ(result.fault->thread, 63u) << cpu;
      EXPECT_EQ(result.fault->ptx_line, 2u) << cpu;
      EXPECT_EQ(result.fault->address, reinterpret_cast<uint64_t>(inside.data()) + 4 * 190) << cpu;
    }
  }
}

// The last element that is accessed is inside, and the row's others are not.
TEST(Rows, BehindManyOtherAccessesAreCheckedWhole) {
  for (const char* cpu : kLevels) {
    if (!HasLevel(cpu)) continue;
    for (const bool loads : {true, false}) {
      std::vector<uint32_t> inside(3 * kRowThreads, 7);
      GridLaunch launch{.block = {kRowThreads, 1, 1}};
      launch.window_base = reinterpret_cast<uint64_t>(inside.data());
      launch.window_bytes = 4 * (63 * 3 + 1);
      RowsBody body("i32", 4);
      body.LoadThroughManyBases(20);
      if (loads) {
        std::vector<std::string> values;
        for (int i = 0; i < 3; ++i) values.push_back(body.Load("%p0", i));
        body.Store("%p1", 0, body.Sum(values));
      } else {
        for (int i = 2; i >= 0; --i) body.Store("%p1", i, "1");
      }
      launch.Param(inside.data()).Param(inside.data()).Param(inside.data()).Param(0u);
      const GridResult result = RunRows(body.Kernel(12, kRowThreads), cpu, launch);
      ASSERT_TRUE(result.fault) << cpu << (loads ? " loads" : " stores");
      EXPECT_EQ(result.fault->thread, 63u) << cpu;
      EXPECT_EQ(result.fault->ptx_line, loads ? 2u : 1u) << cpu;
      EXPECT_EQ(inside[191], 7u) << cpu;
    }
  }
}

}  // namespace
}  // namespace tutti::compiler
