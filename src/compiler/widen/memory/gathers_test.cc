// Loads whose lanes are not side by side: that they are made in the form that is cheap, and right in all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <utility>

#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTargets[] = {"x86-64-v3", "x86-64-v4"};

std::string Text(const std::string& ir, const char* cpu) {
  auto text = WidenText(ir, {.target = HostTarget::Named(cpu), .block = {32, 1, 1}});
  return text ? *text : text.error().text;
}

GridResult RunOn(const std::string& ir, const char* cpu, const GridLaunch& launch) {
  auto kernel = BuildWarps(ir, {.target = HostTarget::Named(cpu), .block = {32, 1, 1}});
  EXPECT_TRUE(kernel) << kernel.error().text;
  return kernel ? RunGrid(kernel->descriptor(), launch) : GridResult{};
}

bool CanRun(const char* cpu) { return HostTarget::Detect().level >= HostTarget::Named(cpu).level; }

// %<name> = p + scale * index, as `global` memory.
std::string At(const std::string& name, const std::string& base, const std::string& index, int scale) {
  return "  %" + name + "w = sext i32 " + index + " to i64\n  %" + name + "b = mul i64 %" + name + "w, " +
         std::to_string(scale) + "\n  %" + name + "a = add i64 " + base + ", %" + name + "b\n  %" + name +
         " = inttoptr i64 %" + name + "a to ptr addrspace(1)\n";
}

// p1[t] = the element of `bits` at p0 + stride * t, for t < n.
std::string Strided(int bits, int stride) {
  const std::string type = "i" + std::to_string(bits);
  return KernelText("  %inside = icmp ult i32 %tx, %n\n  br i1 %inside, label %copy, label %done\ncopy:\n" +
                    At("from", "%p0", "%tx", stride) + At("to", "%p1", "%tx", 8) + "  %v = load " + type +
                    ", ptr addrspace(1) %from, align " + std::to_string(bits / 8) + "\n" +
                    (bits == 64 ? "  %e = add i64 %v, 0\n" : "  %e = zext " + type + " %v to i64\n") +
                    "  store i64 %e, ptr addrspace(1) %to, align 8\n  br label %done\ndone:\n  ret void\n");
}

uint64_t Expected(const uint8_t* from, int bits) {
  uint64_t value = 0;
  std::memcpy(&value, from, static_cast<size_t>(bits) / 8);
  return value;
}

TEST(Gathers, LanesAFewElementsApartAreLoadedAsVectors) {
  // Up to the last byte of a page, with nothing behind it.
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* pages =
      static_cast<uint8_t*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
  for (size_t i = 0; i < page; ++i) pages[i] = static_cast<uint8_t>(i * 37 + i / 256);
  constexpr std::pair<int, int> kForms[] = {{8, 2},  {8, 3},   {8, 16},  {16, 4}, {16, 6},
                                            {32, 8}, {32, 16}, {64, 24}, {32, -8}};
  for (const auto& [bits, stride] : kForms) {
    const std::string ir = Strided(bits, stride);
    for (const char* cpu : kTargets) {
      if (!CanRun(cpu)) continue;
      for (const uint32_t count : {32u, 21u}) {
        std::vector<uint64_t> to(32, 7);
        const size_t lowest = stride < 0 ? 0 : page - static_cast<size_t>(31 * stride + bits / 8);
        const uint8_t* from = stride < 0 ? pages + 31 * -stride : pages + lowest;
        const GridResult result = RunOn(
            ir, cpu, GridLaunch{.block = {32, 1, 1}}.Param(from).Param(to.data()).Param(uint64_t{0}).Param(count));
        EXPECT_FALSE(result.fault);
        for (int t = 0; t < 32; ++t) {
          EXPECT_EQ(to[static_cast<size_t>(t)], t < static_cast<int>(count) ? Expected(from + t * stride, bits) : 7)
              << cpu << " " << bits << " " << stride << " " << t;
        }
      }
    }
  }
  munmap(pages, 2 * page);
}

TEST(Gathers, LanesAFewElementsApartNeedAGatherOnlyWhereOneIsOutside) {
  for (const int bits : {8, 16, 32})
    EXPECT_THAT(Text(Strided(bits, bits / 4), "x86-64-v4"), HasSubstr("load <32 x i" + std::to_string(bits) + ">"));
}

// For t with from <= n - t <= to: p1[t] = s[n - t], of bytes that are their places. Others are proved not to access,
// and their places may lie before shared memory, or behind it.
std::string Backwards(uint32_t from, uint32_t to, uint32_t shared_bytes) {
  return KernelText(R"(
  %w = zext i32 %tx to i64
  br label %fill
fill:
  %i = phi i64 [ %w, %0 ], [ %next, %fill ]
  %s = inttoptr i64 %i to ptr addrspace(3)
  %byte = trunc i64 %i to i8
  store i8 %byte, ptr addrspace(3) %s
  %next = add i64 %i, 32
  %more = icmp ult i64 %next, )" +
                        std::to_string(shared_bytes) +
                        R"(
  br i1 %more, label %fill, label %filled
filled:
  call void @tutti.warp_barrier(i32 -1)
  %place = sub i32 %n, %tx
  %above = sub i32 %place, )" +
                        std::to_string(from) +
                        R"(
  %inside = icmp ule i32 %above, )" +
                        std::to_string(to - from) +
                        R"(
  br i1 %inside, label %copy, label %done
copy:
  %at = add nuw nsw i32 %above, )" +
                        std::to_string(from) +
                        R"(
  %ea = zext nneg i32 %at to i64
  %e = inttoptr i64 %ea to ptr addrspace(3)
  %v = load i8, ptr addrspace(3) %e
  %oa = add i64 %p1, %w
  %o = inttoptr i64 %oa to ptr addrspace(1)
  store i8 %v, ptr addrspace(1) %o
  br label %done
done:
  ret void
)",
                    shared_bytes);
}

TEST(Gathers, ARowBackwardsInSharedMemoryIsAVectorWhereAllOfItIsThere) {
  constexpr uint32_t kBytes = 96, kFrom = 32, kTo = 63;
  EXPECT_THAT(Text(Backwards(kFrom, kTo, kBytes), "x86-64-v4"), HasSubstr("load <32 x i8>"));
  for (const char* cpu : kTargets) {
    if (!CanRun(cpu)) continue;
    for (const auto& [from, to] : {std::pair(kFrom, kTo), {0u, kBytes - 1}}) {
      auto kernel = BuildWarps(Backwards(from, to, kBytes), {.target = HostTarget::Named(cpu), .block = {32, 1, 1}});
      ASSERT_TRUE(kernel) << kernel.error().text;
      for (uint32_t n = 0; n < kBytes + 40; ++n) {
        std::vector<uint8_t> written(32, 0xee), expected = written;
        for (uint32_t t = 0; t < 32; ++t) {
          if (n - t >= from && n - t <= to) expected[t] = static_cast<uint8_t>(n - t);
        }
        GridLaunch launch{.block = {32, 1, 1}};
        const GridResult result =
            RunGrid(kernel->descriptor(), launch.Param(uint64_t{0}).Param(written.data()).Param(uint64_t{0}).Param(n));
        EXPECT_FALSE(result.fault);
        EXPECT_EQ(written, expected) << cpu << " " << from << " " << n;
      }
    }
  }
}

TEST(Gathers, AMisalignedLaneBetweenAlignedOnesFaults) {
  // 32-bit words 6 bytes apart.
  std::vector<uint64_t> from(64), to(32);
  for (const char* cpu : kTargets) {
    if (!CanRun(cpu)) continue;
    const GridResult result =
        RunOn(Strided(32, 6), cpu,
              GridLaunch{.block = {32, 1, 1}}.Param(from.data()).Param(to.data()).Param(uint64_t{0}).Param(32u));
    ASSERT_TRUE(result.fault) << cpu;
    EXPECT_EQ(result.fault->kind, guest::FaultKind::kMisalignedAddress);
    EXPECT_EQ(result.fault->thread, 1u);
  }
}

TEST(Gathers, TheEndOfMemoryBetweenLanesIsFoundByTheFirstLaneBehindIt) {
  std::vector<uint32_t> from(64), unused(1);
  std::vector<uint64_t> to(32);
  for (const char* cpu : kTargets) {
    if (!CanRun(cpu)) continue;
    GridLaunch launch{.block = {32, 1, 1}};
    launch.window_base = reinterpret_cast<uint64_t>(from.data());
    launch.window_bytes = 4 * 41;  // words 0 to 40
    launch.Param(from.data()).Param(from.data()).Param(uint64_t{0}).Param(32u);
    const GridResult result = RunOn(Strided(32, 8), cpu, launch);
    ASSERT_TRUE(result.fault) << cpu;
    EXPECT_EQ(result.fault->thread, 21u) << cpu;
  }
}

// p1[t] = the element of `bits` at p0 + its size * i, i = p2[t].
std::string ByIndex(int bits) {
  const std::string type = "i" + std::to_string(bits);
  return KernelText(At("index", "%p2", "%tx", 4) + "  %i = load i32, ptr addrspace(1) %index, align 4\n" +
                    At("from", "%p0", "%i", bits / 8) + At("to", "%p1", "%tx", 8) + "  %v = load " + type +
                    ", ptr addrspace(1) %from, align " + std::to_string(bits / 8) + "\n  %e = zext " + type +
                    " %v to i64\n  store i64 %e, ptr addrspace(1) %to, align 8\n  ret void\n");
}

TEST(Gathers, BytesAndHalvesAreGatheredAsWords) {
  std::vector<uint8_t> memory(4096);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<uint8_t>(i * 41 + i / 256);
  for (const int bits : {8, 16}) {
    const std::string ir = ByIndex(bits);
    const std::string text = Text(ir, "x86-64-v4");
    EXPECT_THAT(text, HasSubstr("@llvm.masked.gather.v32i32"));
    EXPECT_THAT(text, Not(HasSubstr("@tutti_gather_i")));
    EXPECT_THAT(Text(ir, "x86-64-v3"), HasSubstr("@tutti_gather_at_i"));
    for (const char* cpu : kTargets) {
      if (!CanRun(cpu)) continue;
      for (size_t first = 2000; first < 2004; first += static_cast<size_t>(bits) / 8) {
        const uint8_t* from = memory.data() + first;
        std::vector<int32_t> index(32);
        for (int t = 0; t < 32; ++t) index[static_cast<size_t>(t)] = t % 2 == 0 ? -t * 29 : t * 31;
        std::vector<uint64_t> to(32);
        EXPECT_FALSE(
            RunOn(ir, cpu, GridLaunch{.block = {32, 1, 1}}.Param(from).Param(to.data()).Param(index.data()).Param(0u))
                .fault);
        for (size_t t = 0; t < 32; ++t)
          EXPECT_EQ(to[t], Expected(from + index[t] * (bits / 8), bits))
              << cpu << " " << bits << " " << first << " " << t;
      }
    }
  }
}

// p1[i] = the element of `bits` at p0[i], i = p2[t], for t < n; the index is extended by `extend`.
std::string CopyByIndex(int bits, const std::string& extend) {
  const std::string type = "i" + std::to_string(bits), bytes = std::to_string(bits / 8);
  const auto at = [&](const std::string& name, const std::string& base) {
    return "  %" + name + "b = mul i64 %w, " + bytes + "\n  %" + name + "a = add i64 " + base + ", %" + name +
           "b\n  %" + name + " = inttoptr i64 %" + name + "a to ptr addrspace(1)\n";
  };
  return KernelText(At("index", "%p2", "%tx", 4) + "  %inside = icmp ult i32 %tx, %n\n" +
                    "  br i1 %inside, label %copy, label %done\ncopy:\n" +
                    "  %i = load i32, ptr addrspace(1) %index, align 4\n  %w = " + extend + " i32 %i to i64\n" +
                    at("from", "%p0") + at("to", "%p1") + "  %v = load " + type + ", ptr addrspace(1) %from, align " +
                    bytes + "\n  store " + type + " %v, ptr addrspace(1) %to, align " + bytes +
                    "\n  br label %done\ndone:\n  ret void\n");
}

TEST(Gathers, IndicesOf32BitsAreUsedAsTheyAreWithoutAVectorOfAddresses) {
  for (const int bits : {8, 16, 32, 64}) {
    const size_t bytes = static_cast<size_t>(bits) / 8;
    for (const char* extend : {"sext", "zext"}) {
      const std::string ir = CopyByIndex(bits, extend);
      EXPECT_THAT(Text(ir, "x86-64-v3"), HasSubstr("@tutti_gather_at_i" + std::to_string(bits)));
      EXPECT_THAT(Text(ir, "x86-64-v3"), HasSubstr("@tutti_scatter_at_i" + std::to_string(bits)));
      for (const char* cpu : kTargets) {
        if (!CanRun(cpu)) continue;
        for (const uint32_t count : {32u, 21u, 1u, 0u}) {
          std::vector<uint8_t> from(4096), to(4096, 0xee), expected = to;
          for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 41 + i / 256);
          // Negative ones are before the middle where the index is signed, and behind it where it is not.
          const bool is_signed = std::string(extend) == "sext";
          const size_t base = is_signed ? 2048 : 0;
          std::vector<int32_t> index(32);
          for (int t = 0; t < 32; ++t) index[static_cast<size_t>(t)] = is_signed && t % 2 == 0 ? -t * 7 : t * 7;
          for (size_t t = 0; t < count; ++t) {
            const size_t at = base + static_cast<size_t>(index[t]) * bytes;
            std::copy_n(from.begin() + static_cast<ptrdiff_t>(at), bytes,
                        expected.begin() + static_cast<ptrdiff_t>(at));
          }
          EXPECT_FALSE(RunOn(ir, cpu,
                             GridLaunch{.block = {32, 1, 1}}
                                 .Param(from.data() + base)
                                 .Param(to.data() + base)
                                 .Param(index.data())
                                 .Param(count))
                           .fault);
          EXPECT_EQ(to, expected) << cpu << ' ' << bits << ' ' << extend << ' ' << count;
        }
      }
    }
  }
}

TEST(Gathers, AnIndexBehindTheEndFaultsWithItsLaneWhateverTheOthersAre) {
  for (const char* cpu : kTargets) {
    if (!CanRun(cpu)) continue;
    for (const uint32_t bad : {1024u, 0x3fffffffu, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
      for (const char* extend : {"sext", "zext"}) {
        std::vector<uint32_t> memory(1024 + 32);
        uint32_t* index = memory.data() + 1000;
        for (uint32_t t = 0; t < 24; ++t) index[t] = t;
        GridLaunch launch{.block = {32, 1, 1}};
        launch.window_base = reinterpret_cast<uint64_t>(memory.data());
        launch.window_bytes = 4 * 1024;
        index[17] = bad;
        launch.Param(memory.data()).Param(memory.data()).Param(index).Param(24u);
        const GridResult result = RunOn(CopyByIndex(32, extend), cpu, launch);
        ASSERT_TRUE(result.fault) << cpu << ' ' << bad << ' ' << extend;
        EXPECT_EQ(result.fault->thread, 17u) << cpu << ' ' << bad << ' ' << extend;
      }
    }
  }
}

TEST(Gathers, OfLanesThatStoreToOnePlaceTheLastWins) {
  for (const char* cpu : kTargets) {
    if (!CanRun(cpu)) continue;
    for (const uint32_t count : {32u, 30u}) {
      // p1[i] = t, i = p2[t]: by an address that is no table's element for the value.
      const std::string ir = KernelText(At("index", "%p2", "%tx", 4) +
                                        "  %inside = icmp ult i32 %tx, %n\n  br i1 %inside, label %copy, label %done\n"
                                        "copy:\n  %i = load i32, ptr addrspace(1) %index, align 4\n" +
                                        At("to", "%p1", "%i", 4) +
                                        "  store i32 %tx, ptr addrspace(1) %to, align 4\n  br label %done\ndone:\n  "
                                        "ret void\n");
      std::vector<uint32_t> index(32), to(8, 99);
      for (uint32_t t = 0; t < 32; ++t) index[t] = t * 5 % 8;
      RunOn(ir, cpu,
            GridLaunch{.block = {32, 1, 1}}.Param(uint64_t{0}).Param(to.data()).Param(index.data()).Param(count));
      std::vector<uint32_t> expected(8, 99);
      for (uint32_t t = 0; t < count; ++t) expected[index[t]] = t;
      EXPECT_EQ(to, expected) << cpu << ' ' << count;
    }
  }
}

// p1[t] = p0[i] + p0[i + 1] + p0[i + 2], i = p2[t], with 32-bit indices, or addresses that do not come from one base.
std::string ThreeInARow(bool one_base) {
  std::string text = At("index", "%p2", "%tx", 4) + "  %i = load i32, ptr addrspace(1) %index, align 4\n" +
                     At("to", "%p1", "%tx", 4) + At("from", "%p0", "%i", 4);
  text += one_base ? "  %at = add i64 %froma, 0\n"
                   : "  %square = mul i64 %fromb, %fromb\n  %nothing = and i64 %square, 3\n"
                     "  %at = add i64 %froma, %nothing\n";
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    text += "  %a" + n + " = add i64 %at, " + std::to_string(4 * i) + "\n  %q" + n + " = inttoptr i64 %a" + n +
            " to ptr addrspace(1)\n  %v" + n + " = load i32, ptr addrspace(1) %q" + n + ", align 4\n";
  }
  return KernelText(text +
                    "  %s = add i32 %v0, %v1\n  %r = add i32 %s, %v2\n  store i32 %r, ptr addrspace(1) %to, align "
                    "4\n  ret void\n");
}

TEST(Gathers, OneCheckForWhatEachLaneReadsFromOneAddressOn) {
  for (const bool one_base : {true, false}) {
    for (const char* cpu : kTargets) {
      if (!CanRun(cpu)) continue;
      // 0..63 the table, 64..95 the indices, 96..127 the results.
      std::vector<uint32_t> memory(128);
      std::iota(memory.begin(), memory.end(), 0u);
      for (size_t t = 0; t < 32; ++t) memory[64 + t] = static_cast<uint32_t>(t * 7 % 60);
      const auto launch = [&](size_t words) {
        GridLaunch made{.block = {32, 1, 1}};
        made.window_base = reinterpret_cast<uint64_t>(memory.data());
        made.window_bytes = 4 * words;
        return made.Param(memory.data()).Param(memory.data() + 96).Param(memory.data() + 64).Param(0u);
      };
      EXPECT_FALSE(RunOn(ThreeInARow(one_base), cpu, launch(128)).fault);
      for (size_t t = 0; t < 32; ++t) EXPECT_EQ(memory[96 + t], 3 * memory[64 + t] + 3) << cpu << " " << one_base;
      // Of the lane that reaches two words beyond the end, the third load is at fault.
      memory[64 + 9] = 126;
      const GridResult result = RunOn(ThreeInARow(one_base), cpu, launch(128));
      ASSERT_TRUE(result.fault) << cpu << " " << one_base;
      EXPECT_EQ(result.fault->thread, 9u);
      EXPECT_EQ(result.fault->address, reinterpret_cast<uint64_t>(memory.data() + 128));
    }
  }
}

}  // namespace
}  // namespace tutti::compiler
