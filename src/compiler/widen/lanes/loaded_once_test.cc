// What says where memory is accessed may be changed by others while it is used: by the host, other kernels, other
// blocks of a cluster. What an address check has asked about must be what is then accessed, so it is loaded once.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <utility>

#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {
namespace {

constexpr uint32_t kThreads = 32;
constexpr size_t kPage = 4096;
// In words. The table has a page of its own; behind the window there is memory of others, which is all ones.
constexpr uint32_t kTable = 1024, kResults = 2048, kWindow = 4096, kWords = 16384;
constexpr uint32_t kFew = 100, kMany = 8192;

// All lanes' rows end where the second word at p0 says, which is loaded with its neighbours: the "or" of the words at
// p1 goes to p2.
const std::string kRowsOfOneEnd = KernelText(R"(
  %square = mul i32 %tx, %tx
  %start = and i32 %square, 15
  %w = zext i32 %start to i64
  %w4 = shl i64 %w, 2
  %first = add i64 %p1, %w4
  %ends = inttoptr i64 %p0 to ptr addrspace(1)
  %four = load <4 x i32>, ptr addrspace(1) %ends, align 16
  %end = extractelement <4 x i32> %four, i64 1
  br label %row
row:
  %i = phi i32 [ %start, %0 ], [ %next, %row ]
  %a = phi i64 [ %first, %0 ], [ %further, %row ]
  %sum = phi i32 [ 0, %0 ], [ %more, %row ]
  %p = inttoptr i64 %a to ptr addrspace(1)
  %x = load i32, ptr addrspace(1) %p
  %more = or i32 %sum, %x
  %further = add i64 %a, 4
  %next = add i32 %i, 1
  %again = icmp ne i32 %next, %end
  br i1 %again, label %row, label %done
done:
  %t = zext i32 %tx to i64
  %t4 = shl i64 %t, 2
  %ya = add i64 %p2, %t4
  %yp = inttoptr i64 %ya to ptr addrspace(1)
  store i32 %more, ptr addrspace(1) %yp
  ret void
)");

// A page whose second word changes as soon as one instruction has read of it.
class FicklePage {
 public:
  FicklePage(uint32_t* page, uint32_t now, uint32_t then) {
    page_ = page;
    then_ = then;
    page[1] = now;
    stack_t stack{};
    stack.ss_sp = stack_.data();
    stack.ss_size = stack_.size();
    sigaltstack(&stack, &stack_before_);
    struct sigaction action{};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    action.sa_sigaction = OnFault;
    sigaction(SIGSEGV, &action, &fault_before_);
    action.sa_sigaction = OnStep;
    sigaction(SIGTRAP, &action, &step_before_);
    mprotect(page, kPage, PROT_NONE);
  }
  ~FicklePage() {
    mprotect(page_, kPage, PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &fault_before_, nullptr);
    sigaction(SIGTRAP, &step_before_, nullptr);
    sigaltstack(&stack_before_, nullptr);
  }
  bool WasRead() const { return page_[1] == then_; }

 private:
  static constexpr greg_t kTrapFlag = 0x100;

  static void OnFault(int, siginfo_t* info, void* context) {
    const auto distance = reinterpret_cast<uint64_t>(info->si_addr) - reinterpret_cast<uint64_t>(page_);
    if (distance >= kPage) {
      signal(SIGSEGV, SIG_DFL);
      return;
    }
    mprotect(page_, kPage, PROT_READ | PROT_WRITE);
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  }
  static void OnStep(int, siginfo_t*, void* context) {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
    page_[1] = then_;
  }

  static inline uint32_t* page_ = nullptr;
  static inline uint32_t then_ = 0;
  static inline std::array<char, 1 << 16> stack_;
  struct sigaction fault_before_{}, step_before_{};
  stack_t stack_before_{};
};

class LoadedOnce : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("x86-64-v4") && HostTarget::Detect().level != VectorLevel::kAvx512)
      GTEST_SKIP() << "this processor has no AVX-512";
    void* mapped = mmap(nullptr, 4 * kWords, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    memory_ = static_cast<uint32_t*>(mapped);
    std::fill_n(memory_ + kWindow, kWords - kWindow, ~0u);
  }
  void TearDown() override {
    if (memory_ != nullptr) munmap(memory_, 4 * kWords);
  }

  uint32_t* memory_ = nullptr;
};

TEST_P(LoadedOnce, AnEndThatChangesBehindItsCheckLeadsNowhere) {
  TestTarget target;
  target.target = HostTarget::Named(GetParam());
  target.block[0] = kThreads;
  target.lane_after_lane = true;
  const auto kernel = BuildWarps(kRowsOfOneEnd, target);
  ASSERT_TRUE(kernel) << kernel.error().text;
  const auto base = reinterpret_cast<uint64_t>(memory_);
  GridLaunch launch{.block = {kThreads, 1, 1}};
  launch.window_base = base;
  launch.window_bytes = 4 * kWindow;
  launch.Param(base).Param(base + 4 * kTable).Param(base + 4 * kResults).Param(0u);
  memory_[1] = kFew;
  ASSERT_FALSE(RunGrid(kernel->descriptor(), launch).fault);  // whose handlers of signals are there from now on
  for (const auto& [now, then] : {std::pair(kFew, kMany), std::pair(kMany, kFew)}) {
    FicklePage page(memory_, now, then);
    const bool has_fault = RunGrid(kernel->descriptor(), launch).fault.has_value();
    EXPECT_TRUE(page.WasRead());
    EXPECT_EQ(has_fault, now == kMany) << "it is the end that was there first";
    for (uint32_t t = 0; t < kThreads; ++t) ASSERT_EQ(memory_[kResults + t], 0) << "of memory behind the window";
  }
}

INSTANTIATE_TEST_SUITE_P(Processors, LoadedOnce, ::testing::Values("x86-64-v4", "x86-64-v3", "x86-64"));

}  // namespace
}  // namespace tutti::compiler
