// Quick code that is replaced by optimised code: which blocks run which, and what is in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "device/cpu/cpu_backend.h"
#include "device/cpu/testing/test_kernels.h"
#include "device/cts/client.h"

namespace tutti::device::cpu {
namespace {

using cts::Client;

constexpr uint64_t kQuick = 1, kOptimized = 1000;  // what blocks leave

// The kernel NAME is quick code first, which the test names, until the test lets the other arrive.
class SteppedCode final : public CodeSource {
 public:
  std::atomic<int> loaded{0};  // in memory

  // `may_arrive`: false: nothing is to come in its place.
  explicit SteppedCode(std::string quick = "stamp.quick", std::string better = "stamp", bool may_arrive = true)
      : quick_name_(std::move(quick)), better_name_(std::move(better)), may_arrive_(may_arrive) {}

  Result<std::shared_ptr<const module::ModuleIndex>> Index(std::span<const uint8_t> image,
                                                           const Cancelled& cancelled) override {
    return source_->Index(image, cancelled);
  }
  Result<LoadedCode> Kernel(std::span<const uint8_t>, const module::ModuleIndex& index, uint32_t kernel,
                            const uint32_t*, const Cancelled&) override {
    const std::string& name = index.kernels[kernel].name;
    if (name != "stamp") return Count(name, false);
    const std::lock_guard lock(mutex_);
    if (has_arrived_) return Count(better_name_, false);
    if (quick_ == nullptr) quick_ = Count(quick_name_, true);
    return quick_;
  }

  // Of all who have it.
  void Arrive() {
    LoadedCode quick;
    {
      const std::lock_guard lock(mutex_);
      has_arrived_ = true;
      quick = std::move(quick_);
      quick_ = nullptr;
    }
    quick->replacement->Arrive(quick, Count(better_name_, false));
  }

 private:
  struct Counted : LoadedKernel {
    explicit Counted(std::atomic<int>* now) : count(now) { ++*count; }
    ~Counted() override { --*count; }
    std::atomic<int>* const count;
  };

  LoadedCode Count(const std::string& name, bool is_quick) {
    const Cancelled never{false};
    const auto index = source_->Index({reinterpret_cast<const uint8_t*>(name.data()), name.size()}, never);
    auto code = std::make_shared<Counted>(&loaded);
    code->descriptor = (*source_->Kernel({}, **index, 0, nullptr, never))->descriptor;
    code->is_quick = is_quick;
    if (is_quick && may_arrive_) code->replacement = std::make_shared<CodeReplacement>();
    return code;
  }

  const std::string quick_name_, better_name_;
  const bool may_arrive_;
  const std::shared_ptr<CodeSource> source_ = NewTestCode();
  std::mutex mutex_;
  bool has_arrived_ = false;
  LoadedCode quick_;
};

class ReplacedCode : public testing::Test {
 protected:
  static constexpr uint64_t kNone = ~0ull;

  explicit ReplacedCode(std::shared_ptr<SteppedCode> code = std::make_shared<SteppedCode>(), uint32_t sms = 1,
                        uint32_t loaded_kernels = 100)
      : code_(std::move(code)),
        backend_(CreateCpuBackend(
            {.devices = 1, .sms = sms, .memory_bytes = 1ull << 30, .loaded_kernels = loaded_kernels}, code_)),
        client_(backend_.get()) {
    client_.CreateStream(1);
    kernel_ = client_.Kernel("stamp");
    words_ = client_.Array<uint64_t>(2);
  }
  ~ReplacedCode() override {
    Release();
    EXPECT_TRUE(client_.Synchronize(1));
    EXPECT_FALSE(client_.sink().went_backwards());
  }

  uint64_t* Out(uint64_t blocks) { return client_.Array<uint64_t>(blocks); }
  std::vector<uint64_t> Arguments(const uint64_t* out, uint64_t held) const {
    return {reinterpret_cast<uint64_t>(out), reinterpret_cast<uint64_t>(words_), reinterpret_cast<uint64_t>(words_ + 1),
            held};
  }
  void Launch(uint64_t* out, uint32_t blocks, uint64_t held = kNone, bool cooperative = false) {
    client_.Launch(1, kernel_, blocks, 64, Arguments(out, held), cooperative);
  }
  void LaunchClusters(uint64_t* out, uint32_t clusters, uint64_t held = kNone) {
    client_.LaunchGrid(1, {.kernel = kernel_, .grid = {2 * clusters, 1, 1}, .block = {64, 1, 1}, .cluster = {2, 1, 1}},
                       Arguments(out, held));
  }
  void AwaitBegun(uint64_t blocks) const {
    while (std::atomic_ref(words_[0]).load() < blocks) std::this_thread::yield();
  }
  void Release() { std::atomic_ref(words_[1]).store(1); }
  // What was kept for a launch goes right after the client is told that it is done.
  testing::AssertionResult IsLoaded(int count) const {
    for (int tries = 0; tries < 60'000 && code_->loaded != count; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return code_->loaded == count ? testing::AssertionSuccess() : testing::AssertionFailure() << code_->loaded;
  }
  static std::vector<uint64_t> Are(const uint64_t* out, uint64_t blocks) { return {out, out + blocks}; }

  const std::shared_ptr<SteppedCode> code_;
  const std::unique_ptr<Backend> backend_;
  Client client_;
  uint32_t kernel_ = 0;
  uint64_t* words_ = nullptr;  // begun, flag
};

// The SM runs one block after the other, without leaving the guest's code.
TEST_F(ReplacedCode, BlocksThatBeginLaterRunTheNewOneAndThoseThatHaveBegunEndInTheOld) {
  constexpr uint64_t kBlocks = 500, kHeld = 100;
  uint64_t* const out = Out(kBlocks);
  Launch(out, kBlocks, kHeld);
  AwaitBegun(kHeld + 1);
  code_->Arrive();
  EXPECT_EQ(code_->loaded, 2);
  Release();
  ASSERT_TRUE(client_.Synchronize(1));
  for (uint64_t b = 0; b < kBlocks; ++b) ASSERT_EQ(out[b], b <= kHeld ? kQuick : kOptimized) << b;
  EXPECT_EQ(client_.space().counters(0).Get(metrics::Counter::blocks), kBlocks);
  EXPECT_TRUE(IsLoaded(1)) << "the old one is still in memory";
}

TEST_F(ReplacedCode, LaunchesThatHaveNotBegunRunTheNewOne) {
  uint64_t* const first = Out(1);
  uint64_t *const second = Out(4), *const cooperative = Out(4), *const clusters = Out(4);
  Launch(first, 1, 0);
  Launch(second, 4);
  Launch(cooperative, 4, kNone, true);
  LaunchClusters(clusters, 2);
  AwaitBegun(1);
  code_->Arrive();
  Release();
  ASSERT_TRUE(client_.Synchronize(1));
  EXPECT_EQ(first[0], kQuick);
  for (const uint64_t* out : {second, cooperative, clusters}) EXPECT_THAT(Are(out, 4), testing::Each(kOptimized));
  EXPECT_TRUE(IsLoaded(1));
}

TEST_F(ReplacedCode, LaterLaunchesRunTheNewOneAndTheOldOneIsGoneAtOnce) {
  uint64_t *const first = Out(4), *const second = Out(4);
  Launch(first, 4);
  ASSERT_TRUE(client_.Synchronize(1));
  EXPECT_TRUE(IsLoaded(1));
  code_->Arrive();
  EXPECT_EQ(code_->loaded, 1);
  Launch(second, 4);
  ASSERT_TRUE(client_.Synchronize(1));
  EXPECT_THAT(Are(first, 4), testing::Each(kQuick));
  EXPECT_THAT(Are(second, 4), testing::Each(kOptimized));
}

TEST_F(ReplacedCode, BlocksThatRunTogetherRunTheSame) {
  constexpr uint64_t kBlocks = 8;
  uint64_t *const cooperative = Out(kBlocks), *const clusters = Out(kBlocks);
  Launch(cooperative, kBlocks, 0, true);
  AwaitBegun(1);
  code_->Arrive();
  Release();
  ASSERT_TRUE(client_.Synchronize(1));
  EXPECT_THAT(Are(cooperative, kBlocks), testing::Each(kQuick));
  LaunchClusters(clusters, kBlocks / 2);
  ASSERT_TRUE(client_.Synchronize(1));
  EXPECT_THAT(Are(clusters, kBlocks), testing::Each(kOptimized));
}

TEST_F(ReplacedCode, ClustersRunTheSameToo) {
  constexpr uint64_t kBlocks = 8;
  uint64_t* const out = Out(kBlocks);
  LaunchClusters(out, kBlocks / 2, 2);
  AwaitBegun(3);
  code_->Arrive();
  Release();
  ASSERT_TRUE(client_.Synchronize(1));
  EXPECT_THAT(Are(out, kBlocks), testing::Each(kQuick));
}

TEST_F(ReplacedCode, AKernelThatIsUnloadedMeanwhileEndsInTheOldOneAndNothingIsLeft) {
  const auto module = client_.space().LoadModule(0, std::vector<uint8_t>{'s', 't', 'a', 'm', 'p'});
  const uint32_t block[3] = {64, 1, 1};
  kernel_ = client_.space().Prepare(module->id, 0, block)->id;
  uint64_t* const out = Out(10);
  Launch(out, 10, 5);
  AwaitBegun(6);
  ASSERT_TRUE(client_.space().UnloadModule(module->id));
  code_->Arrive();  // also of the other module's
  Release();
  ASSERT_TRUE(client_.Synchronize(1));
  EXPECT_THAT(Are(out, 10), testing::Each(kQuick));
  EXPECT_TRUE(IsLoaded(1)) << "the optimised code of the other module";
}

TEST_F(ReplacedCode, AKernelThatIsUnloadedBehindItLeavesNothing) {
  const auto module = client_.space().LoadModule(0, std::vector<uint8_t>{'s', 't', 'a', 'm', 'p'});
  const uint32_t block[3] = {64, 1, 1};
  kernel_ = client_.space().Prepare(module->id, 0, block)->id;
  uint64_t* const out = Out(10);
  Launch(out, 10, 5);
  AwaitBegun(6);
  code_->Arrive();
  ASSERT_TRUE(client_.space().UnloadModule(module->id));
  EXPECT_EQ(code_->loaded, 2);
  Release();
  ASSERT_TRUE(client_.Synchronize(1));
  for (uint64_t b = 0; b < 10; ++b) EXPECT_EQ(out[b], b <= 5 ? kQuick : kOptimized) << b;
  EXPECT_TRUE(IsLoaded(1));
}

TEST_F(ReplacedCode, AClientThatHasEndedIsNotTold) {
  auto other = std::make_unique<Client>(backend_.get());
  other->Kernel("stamp");
  other.reset();
  code_->Arrive();
  EXPECT_EQ(code_->loaded, 1);
}

TEST_F(ReplacedCode, EachClientOfItTakesTheNewOne) {
  Client other(backend_.get());
  other.CreateStream(1);
  const uint32_t kernel = other.Kernel("stamp");
  auto* const out = other.Array<uint64_t>(3);
  code_->Arrive();
  other.Launch(1, kernel, 1, 64,
               {reinterpret_cast<uint64_t>(out), reinterpret_cast<uint64_t>(out + 1),
                reinterpret_cast<uint64_t>(out + 2), kNone});
  ASSERT_TRUE(other.Synchronize(1));
  EXPECT_EQ(out[0], kOptimized);
  EXPECT_EQ(code_->loaded, 1);
}

class CodeThatStaysQuick : public ReplacedCode {
 protected:
  CodeThatStaysQuick() : ReplacedCode(std::make_shared<SteppedCode>("stamp.quick", "stamp", /*may_arrive=*/false)) {}
};

TEST_F(CodeThatStaysQuick, HasAsMuchTimeAsOtherQuickCode) {
  client_.space().SetLimits({.kernel_ns = 100'000'000});
  Launch(Out(1), 1, 0);
  AwaitBegun(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  Release();
  EXPECT_TRUE(client_.Synchronize(1));
  EXPECT_EQ(client_.space().counters(0).Get(metrics::Counter::time_limit_hits), 0u);
}

class ReplacedInBlocks : public ReplacedCode, public testing::WithParamInterface<const char*> {
 protected:
  ReplacedInBlocks() : ReplacedCode(std::make_shared<SteppedCode>(GetParam())) {}
};
INSTANTIATE_TEST_SUITE_P(Stacks, ReplacedInBlocks, testing::Values("stamp.quick.anew", "stamp.quick.anew.yields"));

// Nothing releases it in the old one. Those behind it are done by the same worker, but while one yields.
TEST_P(ReplacedInBlocks, OneThatHasBegunBeginsAnewInTheNewOne) {
  constexpr uint64_t kBlocks = 50;
  const uint64_t held = std::string(GetParam()).ends_with("yields") ? kBlocks - 1 : 20;
  uint64_t* const out = Out(kBlocks);
  Launch(out, kBlocks, held);
  AwaitBegun(held + 1);
  code_->Arrive();
  AwaitBegun(held + 2);
  Release();  // of the new one's
  ASSERT_TRUE(client_.Synchronize(1));
  for (uint64_t b = 0; b < kBlocks; ++b) ASSERT_EQ(out[b], b < held ? kQuick : kOptimized) << b;
  EXPECT_EQ(words_[0], kBlocks + 1);
  EXPECT_EQ(client_.space().counters(0).Get(metrics::Counter::blocks), kBlocks);
  EXPECT_TRUE(IsLoaded(1));
}

TEST_P(ReplacedInBlocks, BlocksThatRunTogetherEndInTheOld) {
  uint64_t* const out = Out(4);
  Launch(out, 4, 0, true);
  AwaitBegun(1);
  code_->Arrive();
  Release();
  ASSERT_TRUE(client_.Synchronize(1));
  EXPECT_THAT(Are(out, 4), testing::Each(kQuick));
}

class ReplacedBehindWrites : public ReplacedCode {
 protected:
  ReplacedBehindWrites() : ReplacedCode(std::make_shared<SteppedCode>("stamp.quick.writes")) {}
};

TEST_F(ReplacedBehindWrites, ABlockThatHasWrittenEndsInTheOld) {
  uint64_t* const out = Out(10);
  Launch(out, 10, 5);
  AwaitBegun(6);
  code_->Arrive();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(std::atomic_ref(words_[0]).load(), 6u);
  Release();
  ASSERT_TRUE(client_.Synchronize(1));
  for (uint64_t b = 0; b < 10; ++b) EXPECT_EQ(out[b], b <= 5 ? kQuick : kOptimized) << b;
}

class ReplacedByFaults : public ReplacedCode {
 protected:
  ReplacedByFaults() : ReplacedCode(std::make_shared<SteppedCode>("stamp.quick", "stamp.faults")) {}
};

TEST_F(ReplacedByFaults, AFaultIsReportedWhereItIsInTheCodeThatRan) {
  Launch(Out(10), 10, 5);
  AwaitBegun(6);
  code_->Arrive();
  Release();
  ASSERT_TRUE(client_.sink().WaitFaults(1));
  EXPECT_THAT(client_.sink().faults()[0].report, testing::HasSubstr("block (6,0,0)"));
  EXPECT_THAT(client_.sink().faults()[0].report, testing::HasSubstr("PTX line 43"));
}

// The limit is on what is in memory, of both kinds together.
class ReplacedCodeInLittleRoom : public ReplacedCode {
 protected:
  static constexpr int kMost = 2;
  ReplacedCodeInLittleRoom() : ReplacedCode(std::make_shared<SteppedCode>(), 1, kMost) { client_.CreateStream(2); }
};

TEST_F(ReplacedCodeInLittleRoom, AnotherKernelMakesRoomForBoth) {
  client_.Kernel("add");
  uint64_t* const out = Out(10);
  Launch(out, 10, 5);
  AwaitBegun(6);
  EXPECT_EQ(code_->loaded, 2);
  code_->Arrive();
  EXPECT_EQ(code_->loaded, 2) << "the other kernel has gone";
  Release();
  ASSERT_TRUE(client_.Synchronize(1));
  for (uint64_t b = 0; b < 10; ++b) EXPECT_EQ(out[b], b <= 5 ? kQuick : kOptimized) << b;
  EXPECT_TRUE(IsLoaded(1));
}

TEST_F(ReplacedCodeInLittleRoom, WithoutRoomTheOldOneGoesWithItsLaunches) {
  const uint32_t waits = client_.Kernel("wait");
  auto* const flag = client_.Array<uint64_t>(2);
  client_.Launch(2, waits, 1, 1, {reinterpret_cast<uint64_t>(flag), reinterpret_cast<uint64_t>(flag + 1)});
  uint64_t *const first = Out(10), *const second = Out(10);
  Launch(first, 10, 5);
  AwaitBegun(6);
  code_->Arrive();
  EXPECT_EQ(code_->loaded, 2);
  Release();
  ASSERT_TRUE(client_.Synchronize(1));
  EXPECT_THAT(Are(first, 10), testing::Each(kQuick));
  EXPECT_TRUE(IsLoaded(1)) << "the one that waits";
  // As the server does.
  std::vector<uint64_t> arguments = Arguments(second, kNone);
  const Grid grid{.kernel = kernel_,
                  .grid = {10, 1, 1},
                  .block = {64, 1, 1},
                  .arguments = {reinterpret_cast<const uint8_t*>(arguments.data()), 8 * arguments.size()}};
  const uint64_t ticket = client_.next_ticket();
  const Status launched = client_.space().Launch(1, ticket, grid);
  ASSERT_FALSE(launched);
  ASSERT_EQ(launched.error().code, kNotLoaded);
  client_.space().LoadAgain(kernel_);
  ASSERT_TRUE(client_.space().Launch(1, ticket, grid));
  ASSERT_TRUE(client_.Synchronize(1));
  EXPECT_THAT(Are(second, 10), testing::Each(kOptimized));
  std::atomic_ref(flag[0]).store(1);
  ASSERT_TRUE(client_.Synchronize(2));
}

// On several SMs, at any moment, from one stack for all warps to one for each and back.
TEST(ReplacedCodeAtAnyMoment, EachBlockRunsOnce) {
  constexpr uint32_t kBlocks = 3000, kLaunches = 3;
  for (int round = 0; round < 60; ++round) {
    static constexpr const char* kNames[] = {"stamp.quick.yields", "stamp.quick", "stamp.quick.anew.yields",
                                             "stamp.quick.anew"};
    const auto code = std::make_shared<SteppedCode>(kNames[round % 4]);
    const auto backend = CreateCpuBackend({.devices = 1, .sms = 4, .memory_bytes = 256 << 20}, code);
    Client client(backend.get());
    auto* const words = client.Array<uint64_t>(2);
    auto* const out = client.Array<uint64_t>(kLaunches * kBlocks);
    for (uint32_t i = 0; i < kLaunches; ++i) {
      client.CreateStream(1 + i);
      client.Launch(1 + i, client.Kernel("stamp"), kBlocks, 64,
                    {reinterpret_cast<uint64_t>(out + i * kBlocks), reinterpret_cast<uint64_t>(words),
                     reinterpret_cast<uint64_t>(words + 1), kBlocks / 2});
    }
    while (std::atomic_ref(words[0]).load() < static_cast<uint64_t>(round) * 40) std::this_thread::yield();
    std::atomic_ref(words[1]).store(1);
    code->Arrive();
    for (uint32_t i = 0; i < kLaunches; ++i) ASSERT_TRUE(client.Synchronize(1 + i));
    for (uint32_t b = 0; b < kLaunches * kBlocks; ++b) ASSERT_TRUE(out[b] == kQuick || out[b] == kOptimized) << b;
    EXPECT_EQ(client.space().counters(0).Get(metrics::Counter::blocks), kLaunches * kBlocks);
    for (int tries = 0; tries < 60'000 && code->loaded != 1; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(code->loaded, 1);
  }
}

}  // namespace
}  // namespace tutti::device::cpu
