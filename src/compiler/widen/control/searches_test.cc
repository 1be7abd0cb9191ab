// Loops that lanes leave in different rounds: in a round in which no lane is left, nothing may happen
// (link/quiet_rounds.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {
namespace {

constexpr uint32_t kThreads = 64;

// Thread i looks for the word p1 of n letters in the text p0 at i. Those that find it store 1 to p2[i], and each warp
// of which some do adds 1 to p2[kThreads].
const std::string kSearch = KernelText(
    "  br label %start\nstart:\n  br label %loop\n"
    "loop:\n  %j = phi i32 [ 0, %start ], [ %next, %on ]\n  %i = add i32 %tx, %j\n  %i64 = zext i32 %i to i64\n"
    "  %ta = add i64 %p0, %i64\n  %tp = inttoptr i64 %ta to ptr addrspace(1)\n"
    "  %t = load i8, ptr addrspace(1) %tp, align 1\n  %j64 = zext i32 %j to i64\n  %wa = add i64 %p1, %j64\n"
    "  %wp = inttoptr i64 %wa to ptr addrspace(1)\n  %w = load i8, ptr addrspace(1) %wp, align 1\n"
    "  %same = icmp eq i8 %t, %w\n  br i1 %same, label %on, label %done\n"
    "on:\n  %next = add i32 %j, 1\n  %end = icmp eq i32 %next, %n\n  br i1 %end, label %found, label %loop\n"
    "found:\n  %x64 = zext i32 %tx to i64\n  %x4 = shl i64 %x64, 2\n  %fa = add i64 %p2, %x4\n"
    "  %fp = inttoptr i64 %fa to ptr addrspace(1)\n  store i32 1, ptr addrspace(1) %fp, align 4\n"
    "  %ca = add i64 %p2, 256\n  %cp = inttoptr i64 %ca to ptr addrspace(1)\n"
    "  %c = load i32, ptr addrspace(1) %cp, align 4\n  %more = add i32 %c, 1\n"
    "  store i32 %more, ptr addrspace(1) %cp, align 4\n  br label %done\ndone:\n  ret void\n");

// A page and the text, or the word, at its end.
class Pages {
 public:
  Pages() : bytes_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    at_ = static_cast<uint8_t*>(mmap(nullptr, 2 * bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(at_ + bytes_, bytes_, PROT_NONE);
  }
  ~Pages() { munmap(at_, 2 * bytes_); }
  Pages(const Pages&) = delete;
  uint8_t* begin() const { return at_; }
  uint8_t* end() const { return at_ + bytes_; }

 private:
  size_t bytes_;
  uint8_t* at_;
};

struct Found {
  std::vector<uint32_t> by_thread;
  uint32_t warps = 0;  // of which some lane has found it
  bool has_fault = false;
};

// Compiled once for each processor.
const guest::KernelDescriptor* KernelFor(const char* cpu) {
  static std::map<std::string, Result<LoadedKernel>> kernels;
  auto at = kernels.find(cpu);
  if (at == kernels.end()) {
    const TestTarget target{.target = HostTarget::Named(cpu), .block = {kThreads, 1, 1}};
    at = kernels.emplace(cpu, BuildWarps(kSearch, target)).first;
  }
  const auto& kernel = at->second;
  EXPECT_TRUE(kernel) << kernel.error().text;
  return kernel ? &kernel->descriptor() : nullptr;
}

// Text and word lie at the end of the window, one behind the other.
Found Search(const std::string& text, const std::string& word, bool word_is_last, uint32_t length, const char* cpu) {
  const Pages pages;
  const std::string both = word_is_last ? text + word : word + text;
  uint8_t* const at = pages.end() - both.size();
  std::copy(both.begin(), both.end(), at);
  GridLaunch launch{.block = {kThreads, 1, 1}};
  launch.window_base = reinterpret_cast<uint64_t>(pages.begin());
  launch.window_bytes = static_cast<uint64_t>(pages.end() - pages.begin());
  const uint8_t* const text_at = word_is_last ? at : at + word.size();
  const uint8_t* const word_at = word_is_last ? at + text.size() : at;
  launch.Param(reinterpret_cast<uint64_t>(text_at))
      .Param(reinterpret_cast<uint64_t>(word_at))
      .Param(reinterpret_cast<uint64_t>(pages.begin()))
      .Param(length);
  const guest::KernelDescriptor* kernel = KernelFor(cpu);
  if (kernel == nullptr) return {};
  const GridResult result = RunGrid(*kernel, launch);
  const auto* numbers = reinterpret_cast<const uint32_t*>(pages.begin());
  return {
      .by_thread = {numbers, numbers + kThreads}, .warps = numbers[kThreads], .has_fault = result.fault.has_value()};
}

std::vector<uint32_t> Expected(const std::string& text, const std::string& word) {
  std::vector<uint32_t> found(kThreads);
  for (uint32_t i = 0; i < kThreads; ++i) found[i] = text.compare(i, word.size(), word) == 0 ? 1 : 0;
  return found;
}

std::vector<const char*> Processors() {
  std::vector<const char*> names;
  for (const char* cpu : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    if (HostTarget::Detect().level >= HostTarget::Named(cpu).level) names.push_back(cpu);
  }
  return names;
}

std::string Letters(uint32_t count, uint32_t of, uint32_t seed) {
  std::string letters;
  for (uint32_t i = 0; i < count; ++i)
    letters += static_cast<char>('a' + ((i * 2654435761u + seed * 40503u) >> 9) % of);
  return letters;
}

TEST(Searches, FindWhatIsThere) {
  for (const char* cpu : Processors()) {
    for (uint32_t length = 1; length <= 9; ++length) {
      for (uint32_t of = 1; of <= 3; ++of) {
        for (uint32_t seed = 0; seed < 4; ++seed) {
          SCOPED_TRACE(std::string(cpu) + ", " + std::to_string(length) + " of " + std::to_string(of));
          const std::string text = Letters(kThreads + length - 1, of, seed), word = Letters(length, of, seed + 7);
          const Found found = Search(text, word, seed % 2 == 0, length, cpu);
          EXPECT_FALSE(found.has_fault);
          EXPECT_EQ(found.by_thread, Expected(text, word));
        }
      }
    }
  }
}

// No lane goes on to what lies behind text and word.
TEST(Searches, EndWhereMemoryEnds) {
  for (const char* cpu : Processors()) {
    for (uint32_t rounds = 1; rounds <= 9; ++rounds) {
      for (const bool word_is_last : {false, true}) {
        SCOPED_TRACE(std::string(cpu) + ", " + std::to_string(rounds));
        // The last letters of both are in neither.
        const std::string text = std::string(kThreads + rounds - 2, 'a') + "z";
        const std::string word = std::string(rounds - 1, 'a') + "b";
        const Found found = Search(text, word, word_is_last, 1000, cpu);
        EXPECT_FALSE(found.has_fault);
        EXPECT_EQ(found.by_thread, std::vector<uint32_t>(kThreads));
        EXPECT_EQ(found.warps, 0u);
      }
    }
  }
}

// Who finds nothing does not get where those go that do: there is one place for all of them.
TEST(Searches, FindNothingWhereNobodyIsLeft) {
  for (const char* cpu : Processors()) {
    for (uint32_t length = 2; length <= 9; ++length) {
      for (uint32_t differs = 0; differs < length; ++differs) {
        SCOPED_TRACE(std::string(cpu) + ", " + std::to_string(length));
        std::string word(length, 'a');
        word[differs] = 'b';
        const Found found = Search(std::string(kThreads + length, 'a'), word, true, length, cpu);
        EXPECT_FALSE(found.has_fault);
        EXPECT_EQ(found.warps, 0u);
      }
    }
  }
}

// One whose search goes too far is found out, in whichever round.
TEST(Searches, FailWhereALaneLeavesMemory) {
  for (const char* cpu : Processors()) {
    for (uint32_t rounds = 1; rounds <= 9; ++rounds) {
      const std::string text(kThreads + rounds, 'a'), word(rounds, 'a');
      EXPECT_TRUE(Search(text, word, true, rounds + 1, cpu).has_fault) << cpu << rounds;
      EXPECT_TRUE(Search(text.substr(0, kThreads + rounds - 2), word + "c", false, rounds, cpu).has_fault)
          << cpu << rounds;
    }
  }
}

// What is known of a number where lanes go, and nowhere else: lanes stay while p0[thread + j] is what %byte was in the
// rounds before, added to 'a', and %stays holds of x, which begins with n. A round does `does`, which makes %byte.
std::string KnownOfLanes(const std::string& stays, const std::string& does) {
  return KernelText(
      "  br label %start\nstart:\n  %t64 = zext i32 %tx to i64\n  %text = add i64 %p0, %t64\n"
      "  br label %loop\nloop:\n  %j = phi i32 [ 0, %start ], [ %next, %on ]\n"
      "  %x = phi i32 [ %n, %start ], [ %more, %on ]\n  %sum = phi i8 [ 97, %start ], [ %add, %on ]\n"
      "  %j64 = zext i32 %j to i64\n  %x64 = zext i32 %x to i64\n  %ta = add i64 %text, %j64\n"
      "  %tp = inttoptr i64 %ta to ptr addrspace(1)\n  %t = load i8, ptr addrspace(1) %tp, align 1\n"
      "  %same = icmp eq i8 %t, %sum\n" +
      stays + "  %go = and i1 %same, %stays\n  br i1 %go, label %on, label %done\non:\n" + does +
      "  %add = add i8 %sum, %byte\n  %more = add i32 %x, 1\n  %next = add i32 %j, 1\n"
      "  %end = icmp eq i32 %next, 9\n  br i1 %end, label %found, label %loop\n"
      "found:\n  %fa = add i64 %p2, %t64\n  %fp = inttoptr i64 %fa to ptr addrspace(1)\n"
      "  store i8 %sum, ptr addrspace(1) %fp, align 1\n  br label %done\ndone:\n  ret void\n");
}

// Of one warp, whose text is at the beginning of the window, with `table` bytes before it as p1. True: it came to its
// end.
bool Ends(const std::string& kernel, uint32_t n, uint64_t table, const char* cpu) {
  const TestTarget target{.target = HostTarget::Named(cpu), .block = {kThreads, 1, 1}};
  const auto built = BuildWarps(kernel, target);
  EXPECT_TRUE(built) << built.error().text;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const at = mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const window = static_cast<uint8_t*>(at) + page;
  mprotect(window, page, PROT_READ | PROT_WRITE);
  std::fill_n(window, 2 * kThreads, 'a');
  GridLaunch launch{.block = {kThreads, 1, 1}};
  launch.window_base = reinterpret_cast<uint64_t>(window);
  launch.window_bytes = page;
  launch.Param(launch.window_base).Param(launch.window_base - table).Param(launch.window_base + 2 * kThreads).Param(n);
  const bool ends = built && !RunGrid(built->descriptor(), launch).fault;
  munmap(at, 3 * page);
  return ends;
}

// An or is a sum for lanes: two of one number are at a distance that is known. Not so where no lane goes.
TEST(Searches, ReadWhereAChecksSumIs) {
  const std::string kernel =
      KnownOfLanes("  %both = and i64 %x64, 768\n  %stays = icmp eq i64 %both, 0\n",
                   "  %a = or disjoint i64 %x64, 256\n  %b = or disjoint i64 %x64, 512\n  %aa = add i64 %p1, %a\n"
                   "  %ba = add i64 %p1, %b\n  %ap = inttoptr i64 %aa to ptr addrspace(1)\n"
                   "  %bp = inttoptr i64 %ba to ptr addrspace(1)\n  %av = load i8, ptr addrspace(1) %ap, align 1\n"
                   "  %bv = load i8, ptr addrspace(1) %bp, align 1\n  %byte = xor i8 %av, %bv\n");
  for (const char* cpu : Processors()) {
    EXPECT_TRUE(Ends(kernel, 0, 0, cpu)) << cpu;
    EXPECT_TRUE(Ends(kernel, 512, 768, cpu)) << cpu;  // of both first numbers the or is 768, of both others 512
  }
}

TEST(Searches, AskForLanesInEveryFourthRound) {
  const auto text = WidenText(kSearch, {.target = HostTarget::Named("x86-64-v4"), .block = {kThreads, 1, 1}});
  ASSERT_TRUE(text) << text.error().text;
  size_t loads = 0;
  for (size_t at = text->find("load <32 x i8>"); at != std::string::npos; at = text->find("load <32 x i8>", at + 1))
    ++loads;
  EXPECT_GE(loads, 4u);  // and those of a first round before the loop
}

}  // namespace
}  // namespace tutti::compiler
