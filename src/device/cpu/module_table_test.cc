// What a client has in memory of quick code and of what replaces it.
#include "device/cpu/module_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "device/host_share.h"
#include "device/memory_account.h"

namespace tutti::device::cpu {
namespace {

// A module of two kernels and no variables. Each is quick code until it is said to be otherwise.
class TwoKernels final : public CodeSource {
 public:
  Result<std::shared_ptr<const module::ModuleIndex>> Index(std::span<const uint8_t>, const Cancelled&) override {
    auto index = std::make_shared<module::ModuleIndex>();
    for (const char* name : {"one", "other"}) {
      index->kernels.emplace_back();
      index->kernels.back().name = name;
    }
    return index;
  }
  Result<LoadedCode> Kernel(std::span<const uint8_t>, const module::ModuleIndex&, uint32_t kernel, const uint32_t*,
                            const Cancelled&) override {
    return arrived_[kernel] != nullptr ? arrived_[kernel] : quick_[kernel];
  }

  static LoadedCode New(bool is_quick) {
    struct Code : LoadedKernel {
      guest::KernelDescriptor own{};
    };
    auto code = std::make_shared<Code>();
    code->descriptor = &code->own;
    if (is_quick) code->replacement = std::make_shared<CodeReplacement>();
    return code;
  }

  const LoadedCode quick_[2] = {New(true), New(true)};
  LoadedCode arrived_[2];
};

class ModuleTableTest : public testing::Test, public CodeTaker {
 protected:
  ModuleTableTest() {
    module_ = table_.Load(0, std::vector<uint8_t>(4))->id;
    for (uint32_t i = 0; i < 2; ++i) ids_[i] = Prepare(i);
  }
  uint32_t Prepare(uint32_t kernel) {
    const uint32_t block[3] = {32, 1, 1};
    const auto prepared = table_.Prepare(module_, kernel, block, []() -> Result<uint64_t> { return 0; });
    EXPECT_TRUE(prepared);
    return prepared->id;
  }
  KernelInstance& Kernel(uint32_t number) const { return *table_.Find(ids_[number]); }
  // As the Space does.
  uint64_t Launch(uint32_t number) {
    ++Kernel(number).in_streams;
    return Kernel(number).launched = ++launched_;
  }
  void TakeCode(const LoadedCode& quick, const LoadedCode& code) override {
    table_.Replace(quick, code, launched_, &gone_);
  }
  LoadedCode Arrive(uint32_t number) {
    source_.arrived_[number] = TwoKernels::New(false);
    source_.quick_[number]->replacement->Arrive(source_.quick_[number], source_.arrived_[number]);
    return source_.arrived_[number];
  }
  bool HasGone(const LoadedCode& code) const { return std::ranges::find(gone_, code) != gone_.end(); }
  // Counts the room that is left, by evicting nothing.
  bool HasRoom() {
    LoadedCode gone;
    const bool has_room = table_.MakeRoomForOne(&gone);
    EXPECT_EQ(gone, nullptr);
    return has_room;
  }

  MemoryAccount account_{1 << 20};
  HostShare host_{&account_, 1 << 20};
  TwoKernels source_;
  const std::shared_ptr<CodeTaker> taker_{std::make_shared<int>(), this};
  ModuleTable table_{&source_, nullptr, &host_, 3, taker_};
  uint32_t module_ = 0;
  uint32_t ids_[2] = {};
  uint64_t launched_ = 0;
  std::vector<LoadedCode> gone_;
};

TEST_F(ModuleTableTest, CodeInNoStreamIsReplacedAtOnce) {
  Kernel(0).habits.ns = 1000;
  Kernel(1).habits.ns = 1000;
  const LoadedCode code = Arrive(0);
  EXPECT_EQ(Kernel(0).code, code);
  EXPECT_EQ(Kernel(0).newest, code->descriptor);
  EXPECT_EQ(Kernel(0).replaced, nullptr);
  EXPECT_EQ(Kernel(0).habits.ns, 0u);
  EXPECT_TRUE(HasGone(source_.quick_[0]));
  EXPECT_EQ(Kernel(1).code, source_.quick_[1]);
  EXPECT_EQ(Kernel(1).habits.ns, 1000u);
  EXPECT_TRUE(HasRoom()) << "two of three";
}

TEST_F(ModuleTableTest, TheOldOneStaysUntilTheLaunchesBeforeAreDone) {
  const uint64_t first = Launch(0), second = Launch(0);
  const LoadedCode code = Arrive(0);
  EXPECT_EQ(Kernel(0).code, code);
  EXPECT_EQ(Kernel(0).newest, code->descriptor);
  EXPECT_EQ(Kernel(0).replaced, source_.quick_[0]);
  const uint64_t third = Launch(0);
  EXPECT_EQ(table_.LaunchOver(&Kernel(0), second), nullptr);
  EXPECT_EQ(table_.LaunchOver(&Kernel(0), third), nullptr);
  Launch(1);
  LoadedCode gone;
  EXPECT_FALSE(table_.MakeRoomForOne(&gone)) << "three of three";
  EXPECT_EQ(table_.LaunchOver(&Kernel(0), first), source_.quick_[0]);
  EXPECT_TRUE(HasRoom());
  EXPECT_EQ(Kernel(0).code, code);
}

TEST_F(ModuleTableTest, WithoutRoomTheOldOneIsEvictedWithItsLastLaunch) {
  const uint32_t third[3] = {64, 1, 1};
  ASSERT_TRUE(table_.Prepare(module_, 0, third, []() -> Result<uint64_t> { return 0; }));  // the same code
  KernelInstance& other_shape = *table_.FindPrepared(*Kernel(0).module, 0, third);
  ++other_shape.in_streams;
  other_shape.launched = ++launched_;
  const uint64_t launch = Launch(0);
  Launch(1);
  const LoadedCode code = Arrive(0);
  for (KernelInstance* kernel : {&Kernel(0), &other_shape}) {
    EXPECT_EQ(kernel->code, source_.quick_[0]);
    EXPECT_EQ(kernel->newest, source_.quick_[0]->descriptor);
  }
  EXPECT_EQ(table_.LaunchOver(&Kernel(0), launch), source_.quick_[0]);
  EXPECT_EQ(Kernel(0).code, nullptr);
  EXPECT_TRUE(HasRoom());
  table_.GiveBack(ids_[0], table_.CodeOf(ids_[0]), launched_);
  EXPECT_EQ(Kernel(0).code, code);
  const uint64_t next = Launch(0);
  EXPECT_EQ(table_.LaunchOver(&Kernel(0), next), nullptr) << "this one is the best";
}

// As when the client prepares the same code once more.
TEST_F(ModuleTableTest, WhatIsReplacedAfterAllSinceThereIsRoomIsNotEvicted) {
  const uint32_t third[3] = {64, 1, 1};
  ASSERT_TRUE(table_.Prepare(module_, 0, third, []() -> Result<uint64_t> { return 0; }));
  KernelInstance& other_shape = *table_.FindPrepared(*Kernel(0).module, 0, third);
  const uint64_t launch = Launch(0), other = Launch(1);
  ++other_shape.in_streams;
  other_shape.launched = ++launched_;
  const LoadedCode code = Arrive(0);
  EXPECT_EQ(Kernel(0).code, source_.quick_[0]);
  EXPECT_EQ(table_.LaunchOver(&Kernel(1), other), nullptr);
  table_.Replace(source_.quick_[0], code, launched_, &gone_);
  EXPECT_EQ(Kernel(0).code, code);
  EXPECT_TRUE(HasGone(source_.quick_[1]));
  EXPECT_EQ(table_.LaunchOver(&Kernel(0), launch), source_.quick_[0]);
  EXPECT_EQ(table_.LaunchOver(&Kernel(0), Launch(0)), nullptr);
  EXPECT_EQ(Kernel(0).code, code);
}

// It is in the cache on disk alone.
TEST_F(ModuleTableTest, CodeThatIsThereNoMoreIsLoadedWithTheNextLaunch) {
  const uint64_t launch = Launch(1);
  for (uint32_t i = 0; i < 2; ++i) {
    Kernel(i).habits.ns = 1000;
    table_.Replace(source_.quick_[i], nullptr, launched_, &gone_);
  }
  EXPECT_EQ(Kernel(0).code, nullptr);
  EXPECT_TRUE(HasGone(source_.quick_[0]));
  EXPECT_EQ(Kernel(1).code, source_.quick_[1]);
  EXPECT_EQ(table_.LaunchOver(&Kernel(1), launch), source_.quick_[1]);
  EXPECT_EQ(Kernel(1).code, nullptr);
  for (uint32_t i = 0; i < 2; ++i) EXPECT_EQ(Kernel(i).habits.ns, 0u);
}

// It arrives between the moment at which the source gives the old one and that at which the table has it.
TEST_F(ModuleTableTest, WhatArrivesWhileAKernelIsPreparedIsNotMissed) {
  source_.quick_[0]->replacement->Arrive(source_.quick_[0], source_.arrived_[1] = TwoKernels::New(false));
  const LoadedCode code = std::exchange(source_.arrived_[1], nullptr);
  EXPECT_EQ(Kernel(0).code, code);
  const uint32_t block[3] = {128, 1, 1};
  ASSERT_TRUE(table_.Prepare(module_, 0, block, []() -> Result<uint64_t> { return 0; }));  // gets the old one still
  EXPECT_EQ(table_.FindPrepared(*Kernel(0).module, 0, block)->code, code);
}

// A graph may launch it still, and nobody could load it again.
TEST_F(ModuleTableTest, OfAnUnloadedModuleNothingIsEvicted) {
  const uint64_t launch = Launch(0);
  table_.Replace(source_.quick_[0], nullptr, launched_, &gone_);
  const auto kernel = table_.Keep(ids_[0]);
  module::SegmentAddresses addresses;
  ASSERT_TRUE(table_.Unload(module_, &addresses));
  EXPECT_EQ(table_.LaunchOver(kernel.get(), launch), nullptr);
  EXPECT_EQ(kernel->code, source_.quick_[0]);
}

TEST_F(ModuleTableTest, UnloadingCountsBoth) {
  const uint64_t launch = Launch(0);
  Arrive(0);
  KernelInstance& kernel = Kernel(0);
  module::SegmentAddresses addresses;
  const auto kept = table_.Unload(module_, &addresses);
  ASSERT_TRUE(kept);
  EXPECT_EQ(table_.LaunchOver(&kernel, launch), source_.quick_[0]);
  // Of three there is room for three.
  module_ = table_.Load(0, std::vector<uint8_t>(4))->id;
  for (uint32_t i = 0; i < 2; ++i) ids_[i] = Prepare(i);
  EXPECT_TRUE(HasRoom());
  Launch(1);
  Launch(0);
  Arrive(1);
  LoadedCode gone;
  EXPECT_FALSE(table_.MakeRoomForOne(&gone));
}

}  // namespace
}  // namespace tutti::device::cpu
