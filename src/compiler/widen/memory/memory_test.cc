// The form of memory accesses, and that they touch what their threads touch and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <sstream>

#include "compiler/widen/testing/accesses.h"
#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kCopy = KernelText(Address("from", "%p0", "%tx", 2) + Address("to", "%p1", "%tx", 2) + R"(
  %v = load float, ptr addrspace(1) %from
  store float %v, ptr addrspace(1) %to
  ret void
)");

TEST(Memory, ConsecutiveElementsAreOneVector) {
  const std::string text = Wide(kCopy, {.block = {256, 1, 1}, .check_addresses = false});
  EXPECT_THAT(text, HasSubstr("load <32 x float>"));
  EXPECT_THAT(text, HasSubstr("store <32 x float>"));
  EXPECT_THAT(text, Not(HasSubstr("gather")));
}

TEST(Memory, RowsOfATileArePieces) {
  // p1[ty * n + tx] = p0[ty * n + tx] with 64-bit indices.
  const std::string ir = KernelText(R"(
  %ty64 = zext i32 %ty to i64
  %tx64 = zext i32 %tx to i64
  %n64 = zext i32 %n to i64
  %row = mul i64 %ty64, %n64
  %i = add i64 %row, %tx64
  %b = shl i64 %i, 2
  %fa = add i64 %p0, %b
  %ta = add i64 %p1, %b
  %from = inttoptr i64 %fa to ptr addrspace(1)
  %to = inttoptr i64 %ta to ptr addrspace(1)
  %v = load float, ptr addrspace(1) %from
  store float %v, ptr addrspace(1) %to
  ret void
)");
  const std::string text = Wide(ir, {.block = {16, 16, 1}, .check_addresses = false});
  EXPECT_THAT(text, HasSubstr("load <16 x float>"));
  EXPECT_THAT(text, Not(HasSubstr("gather")));
  EXPECT_THAT(text, Not(HasSubstr("scatter")));
}

TEST(Memory, OneAddressIsOneScalarAccess) {
  const std::string ir = KernelText(R"(
  %from = inttoptr i64 %p0 to ptr addrspace(1)
  %v = load i32, ptr addrspace(1) %from
)" + Address("to", "%p1", "%tx", 2) +
                                    "  store i32 %v, ptr addrspace(1) %to\n  ret void\n");
  EXPECT_THAT(Wide(ir, {.block = {32, 1, 1}, .check_addresses = false}), HasSubstr("load i32, ptr"));
}

// Counts p0[t] in shared memory for t < n, and p1[t] = how often there was p0[t].
TEST(Memory, LanesCountInSharedMemoryWhetherAllOrSomeDo) {
  const std::string ir = KernelText(
      Address("from", "%p0", "%tx", 2) + Address("to", "%p1", "%tx", 2) +
          "  %k = load i32, ptr addrspace(1) %from\n  %o = shl i32 %k, 2\n"
          "  %w = inttoptr i32 %o to ptr addrspace(3)\n"
          "  %zo = shl i32 %tx, 2\n  %zero = inttoptr i32 %zo to ptr addrspace(3)\n"
          "  store i32 0, ptr addrspace(3) %zero\n"
          "  %inside = icmp ult i32 %tx, %n\n  br i1 %inside, label %count, label %done\ncount:\n"
          "  %old = atomicrmw add ptr addrspace(3) %w, i32 1 monotonic\n  br label %done\ndone:\n"
          "  %v = load volatile i32, ptr addrspace(3) %w\n  store i32 %v, ptr addrspace(1) %to\n  ret void\n",
      4 * 32);
  EXPECT_THAT(Wide(ir, {.block = {32, 1, 1}}), HasSubstr("all_lanes"));
  for (const char* cpu : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    if (HostTarget::Detect().level < HostTarget::Named(cpu).level) continue;
    for (const uint32_t n : {0u, 1u, 13u, 31u, 32u}) {
      std::vector<uint32_t> keys(32), counts(32);
      for (uint32_t i = 0; i < 32; ++i) keys[i] = i * i % 11;
      GridLaunch launch{.block = {32, 1, 1}};
      RunOn(ir, {.target = HostTarget::Named(cpu), .block = {32, 1, 1}},
            launch.Param(keys.data()).Param(counts.data()).Param(uint64_t{0}).Param(n));
      for (uint32_t i = 0; i < 32; ++i)
        EXPECT_EQ(counts[i], std::count(keys.begin(), keys.begin() + n, keys[i])) << cpu << ", " << n << ", " << i;
    }
  }
}

// Threads below n change p0[0 ..] by p2, each word by another operation.
TEST(Memory, AnOperandThatLanesShareIsCountedNotAddedUp) {
  const char* const operations[] = {"add", "and", "or", "xor", "min", "max", "umin", "umax"};
  std::string body = "  %inside = icmp ult i32 %tx, %n\n  br i1 %inside, label %change, label %done\nchange:\n";
  for (int i = 0; i < 8; ++i) {
    const std::string name = operations[i], at = std::to_string(8 * i);
    body += "  %a" + name + " = add i64 %p0, " + at + "\n  %w" + name + " = inttoptr i64 %a" + name +
            " to ptr addrspace(1)\n  %o" + name + " = atomicrmw " + name + " ptr addrspace(1) %w" + name +
            ", i64 %p2 monotonic\n";
  }
  const std::string ir = KernelText(body + "  br label %done\ndone:\n  ret void\n");
  const std::string text = Wide(ir, {.block = {64, 1, 1}});
  EXPECT_THAT(text, Not(HasSubstr("vector.reduce.add")));
  EXPECT_THAT(text, HasSubstr("ctpop"));
  for (const uint64_t operand : {uint64_t{3}, uint64_t{0x8000000100000007}}) {
    for (const uint32_t n : {0u, 1u, 31u, 45u, 64u}) {
      constexpr uint64_t kBegin = 0x7000000000000015;
      std::vector<uint64_t> words(8, kBegin);
      GridLaunch launch{.block = {64, 1, 1}};
      RunOn(ir, {.block = {64, 1, 1}}, launch.Param(words.data()).Param(uint64_t{0}).Param(operand).Param(n));
      const auto less = static_cast<int64_t>(operand) < static_cast<int64_t>(kBegin);
      const uint64_t changed[] = {kBegin + n * operand,      kBegin & operand,
                                  kBegin | operand,          n % 2 != 0 ? kBegin ^ operand : kBegin,
                                  less ? operand : kBegin,   less ? kBegin : operand,
                                  std::min(kBegin, operand), std::max(kBegin, operand)};
      for (int i = 0; i < 8; ++i) EXPECT_EQ(words[i], n == 0 ? kBegin : changed[i]) << operations[i] << ", " << n;
    }
  }
}

TEST(Memory, FourComponentsOfALaneAreTakenApart) {
  // p1[t] = p0[t].wzyx where t < n, both of float4.
  const std::string ir =
      KernelText("  %inside = icmp ult i32 %tx, %n\n  br i1 %inside, label %copy, label %done\ncopy:\n" +
                 Address("from", "%p0", "%tx", 4) + Address("to", "%p1", "%tx", 4) + R"(
  %v = load <4 x float>, ptr addrspace(1) %from, align 16
  %r = shufflevector <4 x float> %v, <4 x float> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  store <4 x float> %r, ptr addrspace(1) %to, align 16
  br label %done
done:
  ret void
)");
  EXPECT_THAT(Wide(ir, {.block = {32, 1, 1}, .check_addresses = false}), Not(HasSubstr("gather")));
  for (const uint32_t count : {64u, 45u}) {
    std::vector<float> from(256), to(256, -1.0f);
    std::iota(from.begin(), from.end(), 0.0f);
    RunOn(ir, {.block = {64, 1, 1}},
          GridLaunch{.block = {64, 1, 1}}.Param(from.data()).Param(to.data()).Param(uint64_t{0}).Param(count));
    for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(to[i], i / 4 < count ? from[i / 4 * 4 + 3 - i % 4] : -1.0f) << i;
  }
}

size_t CallsOf(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  size_t calls = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("call ") < line.find(name) && line.find(name) != std::string::npos) ++calls;
  }
  return calls;
}

// p1[i] = p0[i] where t < n: i is the thread, or in rows that are 100 apart.
std::string GuardedCopy(const std::string& type, unsigned bytes, const std::string& order = "", bool rows = false) {
  const int shift = std::countr_zero(bytes);
  const std::string align = ", align " + std::to_string(bytes), index = rows ? "%i" : "%tx";
  return KernelText("  %inside = icmp ult i32 %tx, %n\n  br i1 %inside, label %copy, label %done\ncopy:\n" +
                    std::string("  %row = mul i32 %ty, 100\n  %i = add i32 %row, %tx\n") +
                    Address("from", "%p0", index, shift) + Address("to", "%p1", index, shift) + "  %v = load " + order +
                    type + ", ptr addrspace(1) %from" + align + "\n  store " + order + type +
                    " %v, ptr addrspace(1) %to" + align + "\n  br label %done\ndone:\n  ret void\n");
}

TEST(Memory, BeforeAvx512AFullWarpStoresWithoutAMask) {
  for (const bool has_avx512 : {false, true}) {
    const TestTarget target{.target = HostTarget::Named(has_avx512 ? "x86-64-v4" : "x86-64-v3"),
                            .block = {64, 1, 1},
                            .check_addresses = false};
    const auto words = WidenText(GuardedCopy("float", 4), target);
    ASSERT_TRUE(words) << words.error().text;
    EXPECT_EQ(CallsOf(*words, "@llvm.masked.store"), has_avx512 ? 1u : 0u);
    EXPECT_EQ(words->contains("store <32 x float>"), !has_avx512);
    EXPECT_EQ(words->contains("tutti_rare_store_part_i32"), !has_avx512);
    // There is no instruction for a part of the bytes: they are stored one by one.
    const auto bytes = WidenText(GuardedCopy("i8", 1), target);
    ASSERT_TRUE(bytes) << bytes.error().text;
    EXPECT_EQ(CallsOf(*bytes, "@llvm.masked.store"), has_avx512 ? 1u : 0u);
    EXPECT_EQ(bytes->contains("store <32 x i8>"), !has_avx512);
    // The last warp of a block may have but 8 lanes.
    const auto block = WidenText(kCopy, {.target = target.target, .block = {40, 1, 1}, .check_addresses = false});
    ASSERT_TRUE(block) << block.error().text;
    EXPECT_EQ(block->contains("tutti_rare_store_part_i32"), !has_avx512);
  }
}

TEST(Memory, APartOfAWarpStoresItsOwnAndNothingElse) {
  struct Case {
    const char* type;
    unsigned bytes;
    const char* order = "";
  };
  struct Block {
    uint32_t x, y;
  };
  for (const Case& of : {Case{"i8", 1},
                         {"i16", 2},
                         {"i32", 4},
                         {"float", 4},
                         {"double", 8},
                         {"i32", 4, "volatile "},
                         {"i64", 8, "volatile "},
                         {"<2 x i16>", 4},
                         {"<4 x float>", 16},
                         {"<2 x double>", 16}}) {
    for (const Block block : {Block{64, 1}, {40, 1}, {16, 4}, {8, 4}}) {
      const std::string ir = GuardedCopy(of.type, of.bytes, of.order, block.y > 1);
      for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
        if (HostTarget::Detect().level < HostTarget::Named(cpu).level) continue;
        auto kernel = BuildWarps(ir, {.target = HostTarget::Named(cpu), .block = {block.x, block.y, 1}});
        ASSERT_TRUE(kernel) << kernel.error().text;
        for (const uint32_t count : {0u, 1u, 5u, 8u, 13u, 16u, 31u, 32u, 45u, 64u}) {
          std::vector<uint8_t> from(400 * of.bytes), to(from.size(), 0xee), expected = to;
          std::iota(from.begin(), from.end(), uint8_t{0});
          for (uint32_t y = 0; y < block.y; ++y) {
            const size_t row = size_t{100} * y * of.bytes, bytes = size_t{std::min(count, block.x)} * of.bytes;
            std::copy_n(from.begin() + row, bytes, expected.begin() + row);
          }
          GridLaunch launch{.block = {block.x, block.y, 1}};
          RunGrid(kernel->descriptor(), launch.Param(from.data()).Param(to.data()).Param(uint64_t{0}).Param(count));
          EXPECT_EQ(to, expected) << of.order << of.type << " by " << count << " of " << block.x << ' ' << cpu;
        }
      }
    }
  }
}

// p1[t] = p0[t] of `type` for those t whose word p2[t] is not 0.
TEST(Memory, LanesStoreTheirOwnWhicheverTheyAre) {
  for (const auto& [type, bytes] : {std::pair("i32", 4u), {"double", 8u}}) {
    const int shift = std::countr_zero(bytes);
    const std::string ir = KernelText(
        Address("is", "%p2", "%tx", 2) + "  %some = load i32, ptr addrspace(1) %is\n  %goes = icmp ne i32 %some, 0\n" +
        Address("from", "%p0", "%tx", shift) + "  %v = load " + type + ", ptr addrspace(1) %from\n" +
        "  br i1 %goes, label %copy, label %done\ncopy:\n" + Address("to", "%p1", "%tx", shift) + "  store " + type +
        " %v, ptr addrspace(1) %to\n  br label %done\ndone:\n  ret void\n");
    for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
      if (HostTarget::Detect().level < HostTarget::Named(cpu).level) continue;
      auto kernel = BuildWarps(ir, {.target = HostTarget::Named(cpu), .block = {32, 1, 1}});
      ASSERT_TRUE(kernel) << kernel.error().text;
      // Every set of eight lanes, at each place among the 32.
      for (uint32_t lanes = 0; lanes < 256; ++lanes) {
        const uint32_t mask = lanes | lanes << 9 | ~lanes << 16 | lanes << 27;
        std::vector<uint8_t> from(32 * bytes), to(from.size(), 0xee), expected = to;
        std::iota(from.begin(), from.end(), uint8_t{0});
        std::vector<uint32_t> some(32);
        for (size_t t = 0; t < 32; ++t) {
          some[t] = mask >> t & 1;
          if (some[t] != 0) std::copy_n(from.begin() + t * bytes, bytes, expected.begin() + t * bytes);
        }
        GridLaunch launch{.block = {32, 1, 1}};
        RunGrid(kernel->descriptor(), launch.Param(from.data()).Param(to.data()).Param(some.data()).Param(0u));
        ASSERT_EQ(to, expected) << type << ' ' << mask << ' ' << cpu;
      }
    }
  }
}

// p1[3 at] = p0[3 at] with the components in reverse, where `at` is t or an index from memory, for t < n.
std::string ReverseApart(const std::string& element, unsigned bits, unsigned components, bool varying, bool guarded) {
  const std::string type = "<" + std::to_string(components) + " x " + element + ">";
  const unsigned bytes = bits / 8 * components;
  const std::string align = ", align " + std::to_string(bytes);
  std::string order;
  for (unsigned c = components; c-- > 0;) order += (order.empty() ? "i32 " : ", i32 ") + std::to_string(c);
  std::string ir =
      guarded ? "  %inside = icmp ult i32 %tx, %n\n  br i1 %inside, label %copy, label %done\ncopy:\n" : "";
  ir +=
      varying ? Address("at", "%p2", "%tx", 2) + "  %i = load i32, ptr addrspace(1) %at\n" : "  %i = add i32 %tx, 0\n";
  ir += "  %i3 = mul i32 %i, 3\n";
  const int shift = std::countr_zero(bytes);
  ir += Address("from", "%p0", "%i3", shift) + Address("to", "%p1", "%i3", shift);
  ir += "  %v = load " + type + ", ptr addrspace(1) %from" + align + "\n  %r = shufflevector " + type + " %v, " + type +
        " poison, <" + std::to_string(components) + " x i32> <" + order + ">\n  store " + type +
        " %r, ptr addrspace(1) %to" + align + "\n";
  return KernelText(ir + (guarded ? "  br label %done\ndone:\n" : "") + "  ret void\n");
}

TEST(Memory, ComponentsOfLanesThatAreApartMoveTogether) {
  struct Case {
    const char* element;
    unsigned bits, components;
  };
  for (const Case& of : {Case{"i8", 8, 2},
                         {"i8", 8, 4},
                         {"i16", 16, 2},
                         {"i16", 16, 4},
                         {"float", 32, 2},
                         {"float", 32, 4},
                         {"i64", 64, 2},
                         {"double", 64, 2}}) {
    for (const auto& [varying, guarded] : {std::pair(false, false), {false, true}, {true, false}, {true, true}}) {
      const std::string ir = ReverseApart(of.element, of.bits, of.components, varying, guarded);
      const unsigned bytes = of.bits / 8 * of.components, part = of.bits / 8;
      const std::string what = std::string(of.element) + " x " + std::to_string(of.components);
      const std::string text = Wide(ir, {.block = {64, 1, 1}, .check_addresses = false});
      if (bytes >= 8 && (varying || !guarded)) {
        const size_t words = varying ? bytes / 8 : 0;
        EXPECT_EQ(CallsOf(text, "@llvm.masked.gather"), words) << what;
        EXPECT_EQ(CallsOf(text, "@llvm.masked.scatter"), words) << what;
      }
      for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
        if (HostTarget::Detect().level < HostTarget::Named(cpu).level) continue;
        const uint32_t count = guarded ? 45 : 64;
        std::vector<uint8_t> from(64 * 3 * bytes), to(from.size(), 0xee), expected = to;
        std::iota(from.begin(), from.end(), uint8_t{0});
        std::vector<uint32_t> at(64);
        for (uint32_t t = 0; t < 64; ++t) at[t] = varying ? t * 37 % 64 : t;
        for (uint32_t t = 0; t < count; ++t) {
          const size_t place = at[t] * size_t{3} * bytes;
          for (unsigned b = 0; b < bytes; ++b)
            expected[place + b] = from[place + (of.components - 1 - b / part) * part + b % part];
        }
        RunOn(ir, {.target = HostTarget::Named(cpu), .block = {64, 1, 1}},
              GridLaunch{.block = {64, 1, 1}}.Param(from.data()).Param(to.data()).Param(at.data()).Param(count));
        EXPECT_EQ(to, expected) << what << (varying ? " varying" : "") << (guarded ? " guarded" : "") << ' ' << cpu;
      }
    }
  }
}

TEST(Memory, AVolatileVectorIsOneMovePerLane) {
  // p1[i] = p0[i] of 16 bytes, in lanes' own order and by an index from memory.
  for (const bool varying : {false, true}) {
    const std::string index = varying ? Address("at", "%p2", "%tx", 2) + "  %i = load i32, ptr addrspace(1) %at\n"
                                      : "  %i = add i32 %tx, 0\n";
    const std::string ir = KernelText(index + Address("from", "%p0", "%i", 4) + Address("to", "%p1", "%i", 4) + R"(
  %v = load volatile <4 x i32>, ptr addrspace(1) %from, align 16
  %r = shufflevector <4 x i32> %v, <4 x i32> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  store volatile <4 x i32> %r, ptr addrspace(1) %to, align 16
  ret void
)");
    for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
      TestTarget target{.target = HostTarget::Named(cpu), .block = {64, 1, 1}, .check_addresses = false};
      const auto text = WidenText(ir, target);
      ASSERT_TRUE(text) << text.error().text;
      EXPECT_THAT(*text, HasSubstr("load volatile <4 x i32>"));
      EXPECT_THAT(*text, HasSubstr("store volatile <4 x i32>"));
      if (!varying) {
        EXPECT_THAT(*text, Not(HasSubstr("gather")));
      }
      EXPECT_THAT(*text, Not(HasSubstr("scatter")));
      if (HostTarget::Detect().level < HostTarget::Named(cpu).level) continue;
      std::vector<uint32_t> from(256), to(256), at(64);
      std::iota(from.begin(), from.end(), 0u);
      for (uint32_t i = 0; i < 64; ++i) at[i] = i * 37 % 64;
      target.check_addresses = true;
      RunOn(ir, target, GridLaunch{.block = {64, 1, 1}}.Param(from.data()).Param(to.data()).Param(at.data()).Param(0u));
      for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(to[i], i / 4 * 4 + 3 - i % 4) << cpu;
    }
  }
}

// Window: exactly `memory`.
GridLaunch Windowed(std::vector<uint32_t>& memory, uint64_t p1, uint32_t n) {
  GridLaunch launch{.block = {64, 1, 1}};
  launch.window_base = reinterpret_cast<uint64_t>(memory.data());
  launch.window_bytes = 4 * memory.size();
  return launch.Param(memory.data()).Param(p1).Param(uint64_t{0}).Param(n);
}

TEST(CheckedMemory, TheFirstLaneOutsideIsNamed) {
  std::vector<uint32_t> memory(64);
  // The second half of the copies goes beyond the window.
  const uint64_t to = reinterpret_cast<uint64_t>(memory.data() + 20);
  const GridResult result = RunOn(kCopy, {.block = {64, 1, 1}}, Windowed(memory, to, 0));
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->kind, guest::FaultKind::kIllegalAddress);
  EXPECT_EQ(result.fault->thread, 44u);
  EXPECT_EQ(result.fault->address, to + 4 * 44);
}

TEST(CheckedMemory, LanesThatDoNotAccessMayPointAnywhere) {
  const std::string ir =
      KernelText("  %inside = icmp ult i32 %tx, %n\n  br i1 %inside, label %copy, label %done\ncopy:\n" +
                 Address("from", "%p0", "%tx", 2) + Address("to", "%p1", "%tx", 2) +
                 "  %v = load i32, ptr addrspace(1) %from\n  store i32 %v, ptr addrspace(1) %to\n  br label "
                 "%done\ndone:\n  ret void\n");
  std::vector<uint32_t> memory(64);
  std::iota(memory.begin(), memory.end(), 0);
  const GridResult result =
      RunOn(ir, {.block = {64, 1, 1}}, Windowed(memory, reinterpret_cast<uint64_t>(memory.data() + 20), 44));
  EXPECT_FALSE(result.fault);
  EXPECT_EQ(memory[20 + 31], 31u);
}

TEST(CheckedMemory, AGenericAddressReachesSharedMemory) {
  // Stores to shared memory through a generic address, loads through a shared one.
  const std::string ir = KernelText(R"(
  %shared = call i64 @tutti.shared_base()
  %w = zext i32 %tx to i64
  %b = shl i64 %w, 2
  %ga = add i64 %shared, %b
  %g = inttoptr i64 %ga to ptr
  store i32 %tx, ptr %g
  %s = inttoptr i64 %b to ptr addrspace(3)
  %v = load i32, ptr addrspace(3) %s
)" + Address("to", "%p0", "%tx", 2) + "  store i32 %v, ptr addrspace(1) %to\n  ret void\n",
                                    256);
  std::vector<uint32_t> memory(64, 7);
  EXPECT_FALSE(RunOn(ir, {.block = {64, 1, 1}}, Windowed(memory, 0, 0)).fault);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(memory[i], i);
}

TEST(CheckedMemory, SharedMemoryEnds) {
  const std::string ir = KernelText(R"(
  %w = zext i32 %tx to i64
  %b = shl i64 %w, 5
  %s = inttoptr i64 %b to ptr addrspace(3)
  store i32 %tx, ptr addrspace(3) %s
  ret void
)",
                                    256);
  std::vector<uint32_t> memory(64);
  const GridResult result = RunOn(ir, {.block = {64, 1, 1}}, Windowed(memory, 0, 0));
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->thread, 8u);
}

TEST(CheckedMemory, AnIndexThatALoopBoundsNeedsNoCheck) {
  // Threads take turns through 32 rows of shared memory; `rows` of them are there.
  const auto loop = [](int rows) {
    return KernelText(R"(
  %w = zext i32 %tx to i64
  %first = shl i64 %w, 2
  br label %start
start:
  br label %loop
loop:
  %p = phi i64 [ 0, %start ], [ %next, %loop ]
  %row = shl i64 %p, 8
  %b = add i64 %row, %first
  %s = inttoptr i64 %b to ptr addrspace(3)
  store i32 %tx, ptr addrspace(3) %s
  %next = add i64 %p, 1
  %more = icmp ult i64 %next, 32
  br i1 %more, label %loop, label %done
done:
  ret void
)",
                      static_cast<uint32_t>(256 * rows));
  };
  const auto checks = AnyOf(HasSubstr("tutti_check"), HasSubstr("tutti_rare"));
  EXPECT_THAT(Wide(loop(32), {.block = {64, 1, 1}}), Not(checks));
  EXPECT_THAT(Wide(loop(31), {.block = {64, 1, 1}}), checks);
  std::vector<uint32_t> memory(64);
  const GridResult result = RunOn(loop(31), {.block = {64, 1, 1}}, Windowed(memory, 0, 0));
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->kind, guest::FaultKind::kIllegalAddress);
}

TEST(CheckedMemory, ALocalArrayCannotBeLeft) {
  const std::string ir = KernelText(R"(
  %array = alloca [8 x i32]
  %i = add i32 %tx, %n
  %w = zext i32 %i to i64
  %at = getelementptr [8 x i32], ptr %array, i64 0, i64 %w
  store volatile i32 1, ptr %at
  ret void
)");
  std::vector<uint32_t> memory(64);
  // A neighbour's copy of the array is the client's own; beyond the last one it is not.
  const GridResult result = RunOn(ir, {.block = {32, 1, 1}}, Windowed(memory, 0, 1 << 20));
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->kind, guest::FaultKind::kIllegalAddress);
}

}  // namespace
}  // namespace tutti::compiler
