// What becomes of modules, with a driver that loads nothing.
#include "executor/modules.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <string>
#include <string_view>

#include "executor/fence.h"
#include "executor/fence_memory.h"
#include "executor/testing/submitter_fixture.h"
#include "guest/gpu/fenced_ptx.h"
#include "image/image_list.h"
#include "image/testing_cubin.h"
#include "image/testing_fatbin.h"

namespace tutti::executor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using namespace cuda;

constexpr uint64_t kBase = 1ull << 40, kPart = 4 * guest::kFenceSlabBytes;

class ModulesTest : public testing::Test {
 protected:
  ModulesTest() { driver = &driver_; }
  ~ModulesTest() override { driver = nullptr; }

  static Modules::Image ImageOf(std::string_view text) {
    const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    return {.text = bytes, .code = bytes};
  }
  static std::string WithTable(uint64_t bytes) {
    return ".version 7.0\n.target sm_70\n.address_size 64\n.global .b8 table[" + std::to_string(bytes) + "];\n";
  }

  FakeDriver driver_;
  const Vendor vendor_ = MakeVendor();
  Context context_{vendor_};
};

TEST_F(ModulesTest, ANumberThatIsTakenIsRefusedAndTheModuleThatHasItStays) {
  driver_.variables[guest::kFenceVariable] = sizeof(guest::FenceWords);
  FenceMemory memory(vendor_);
  Fence fence(vendor_, &memory);
  ASSERT_TRUE(fence.Open(kBase, kPart, kPart));
  Modules modules(vendor_, &fence);
  ASSERT_TRUE(modules.Load(7, ImageOf(WithTable(4)), true));
  const uintptr_t first = driver_.last;
  EXPECT_FALSE(modules.Load(7, ImageOf(WithTable(4)), true));
  driver_.calls.clear();
  ASSERT_TRUE(fence.SetMemory(kBase + kPart, guest::kFenceSlabBytes, guest::kFenceReadable | guest::kFenceWritable));
  const uint64_t run = AddressOfVariable(first) + offsetof(guest::FenceWords, run_bytes);
  EXPECT_THAT(driver_.calls, Contains(HasSubstr(" to " + std::to_string(run) + " "))) << "it is told of its memory";
  EXPECT_TRUE(driver_.unloaded().empty());
}

// The driver may take long: a launch of another module does not wait for that.
TEST_F(ModulesTest, OneThatIsBeingUnloadedHoldsUpNoLaunch) {
  Modules modules(vendor_);
  ASSERT_TRUE(modules.Load(1, ImageOf(WithTable(4)), false));
  std::future<void> launched;
  std::future_status status = std::future_status::deferred;
  driver_.at_unload = [&] {
    launched = std::async(std::launch::async, [&] { (void)modules.Find(2, 0, 0, 1); });
    status = launched.wait_for(std::chrono::seconds(10));
  };
  EXPECT_TRUE(modules.Unload(1));
  EXPECT_EQ(status, std::future_status::ready);
}

TEST_F(ModulesTest, OnesVariablesCountAsItWaitsToBeUnloaded) {
  constexpr uint64_t kMuch = Leftovers::kMostBytesOfPlace;
  Leftovers leftovers(vendor_, &context_, nullptr);
  Modules modules(vendor_, nullptr, 0, &leftovers);
  context_.Begin();
  driver_.variables["table"] = 4;
  ASSERT_TRUE(modules.Load(1, ImageOf(WithTable(4)), false));
  EXPECT_EQ(modules.Unload(1), true);
  driver_.variables["table"] = kMuch;
  ASSERT_TRUE(modules.Load(2, ImageOf(WithTable(kMuch)), false));
  EXPECT_EQ(modules.Unload(2), false);
  EXPECT_EQ(modules.Unload(2), false) << "it is loaded, and has its number";
  context_.End();
  EXPECT_EQ(modules.Unload(2), true);
  EXPECT_FALSE(modules.Unload(2));
}

// They are loaded, as are others that are left: a program that goes on has no more of these than its part.
TEST_F(ModulesTest, OnesThatFailBehindTheDriverLeaveOthersTheirRoom) {
  const std::string text =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .b32 __tutti_managed_x;\n"
      ".visible .global .b32 x;\n";
  Leftovers leftovers(vendor_, &context_, nullptr);
  Modules one(vendor_, nullptr, 0, &leftovers), two(vendor_, nullptr, 0, &leftovers);
  driver_.variables["table"] = Leftovers::kMostBytesOfPlace / 2;
  ASSERT_TRUE(two.Load(1, ImageOf(WithTable(4)), false));
  context_.Begin();
  uint32_t number = 0;
  for (size_t i = 0; i < Leftovers::kMostOfPlace; ++i) EXPECT_FALSE(one.Load(++number, ImageOf(text), false));
  auto more = std::async(std::launch::async, [&] {
    for (size_t i = Leftovers::kMostOfPlace; i < Leftovers::kMost; ++i)
      EXPECT_FALSE(one.Load(++number, ImageOf(text), false));
  });
  EXPECT_EQ(more.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  EXPECT_EQ(two.Unload(1), true);
  EXPECT_TRUE(driver_.unloaded().empty());
  context_.End();
  more.wait();
}

// The driver may not give the memory back for as long as others' kernels run.
TEST_F(ModulesTest, OneWithMoreVariablesThanThereIsMemoryForIsNotLoaded) {
  Modules modules(vendor_);
  const std::string text = WithTable(60ull << 30);
  const auto refused = modules.Load(1, ImageOf(text), false, {.most_bytes = 1 << 30});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver_.last, 0u) << "the driver has made nothing";
  EXPECT_TRUE(modules.Load(1, ImageOf(text), false, {.most_bytes = 60ull << 30}));
}

TEST_F(ModulesTest, WhatTheDriverFindsNoNamesForCountsByItsImage) {
  constexpr uint64_t kMuch = 60ull << 30;
  auto cubin = image::CubinBuilder(80).Add(".nv.global", "x", SHF_ALLOC).Build();
  image::CubinBuilder::ChangeSection(&cubin, 2, [](Elf64_Shdr& section) {
    section.sh_type = SHT_NOBITS;
    section.sh_size = kMuch;
  });
  Modules modules(vendor_);
  EXPECT_FALSE(modules.Load(1, {.text = cubin, .code = cubin}, false, {.most_bytes = kMuch - 1}));
  const auto loaded = modules.Load(1, {.text = cubin, .code = cubin}, false, {.most_bytes = kMuch});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->other_bytes, kMuch);
  driver_.variables["table"] = 64;
  const auto named = modules.Load(2, ImageOf(WithTable(64)), false);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->other_bytes, 0u);
}

TEST_F(ModulesTest, MachineCodeForTheDeviceThatCannotBeReadIsNotLoadedWhereThereIsALimit) {
  const auto image = image::FatbinBuilder().Add(image::EntryKind::kElf, 90, "no ELF file").Build();
  Modules modern(vendor_, nullptr, 90), old(vendor_, nullptr, 80);
  const Modules::Bounds limit{.is_limit = true};
  EXPECT_FALSE(modern.Load(1, {.text = image, .code = image}, false, limit));
  EXPECT_EQ(driver_.last, 0u);
  EXPECT_TRUE(modern.Load(1, {.text = image, .code = image}, false)) << "the driver says what it thinks of it";
  EXPECT_TRUE(old.Load(1, {.text = image, .code = image}, false, limit)) << "it is not for that device";
}

// A driver may take what we do not, and the memory that it asks for.
TEST_F(ModulesTest, TextThatCannotBeReadIsNotLoadedWhereThereIsALimit) {
  std::string text = WithTable(60ull << 30);
  text += ".global .b8 unread";
  for (int i = 0; i < 17; ++i) text += "[1]";
  text += ";\n";
  Modules modules(vendor_, nullptr, 90);
  const Modules::Bounds limit{.most_bytes = 1 << 30, .is_limit = true};
  const auto refused = modules.Load(1, ImageOf(text), false, limit);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(driver_.last, 0u);
  EXPECT_TRUE(modules.Load(1, ImageOf(text), false)) << "the driver says what it thinks of it";
  // What is packed may be read by a driver alone, and what machine code stands beside it is not all.
  const auto cubin = image::CubinBuilder(90).Build();
  const std::string_view code(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  const auto fatbin = [&](std::string_view ptx) {
    return image::FatbinBuilder()
        .Add(image::EntryKind::kElf, 90, code)
        .Add(image::EntryKind::kPtx, 90, ptx, image::Packing::kZstd)
        .Build();
  };
  const std::vector<uint8_t> sound = fatbin(WithTable(64));
  std::vector<uint8_t> damaged = sound;
  constexpr std::array<uint8_t, 4> kZstd{0x28, 0xb5, 0x2f, 0xfd};
  const auto packed = std::ranges::search(damaged, kZstd);
  ASSERT_FALSE(packed.empty());
  packed.front() ^= 1;
  EXPECT_TRUE(modules.Load(2, {.text = sound, .code = sound}, false, limit));
  EXPECT_FALSE(modules.Load(3, {.text = damaged, .code = damaged}, false, limit));
  EXPECT_TRUE(modules.Load(3, {.text = damaged, .code = damaged}, false));
  EXPECT_TRUE(modules.Load(4, {.text = cubin, .code = cubin}, false, limit)) << "it has no text";
}

// As programs of several translation units give them.
TEST_F(ModulesTest, AListOfImagesIsLoadedWhereThereIsALimitAndCountsAsAWhole) {
  const auto cubin = image::CubinBuilder(90).Add(".nv.global.init", std::string(100, 'x'), SHF_ALLOC).Build();
  const std::string text = WithTable(100);
  const std::span<const uint8_t> images[] = {cubin, ImageOf(text).text};
  const auto list = image::PackImageList(images);
  Modules modules(vendor_, nullptr, 90);
  const auto loaded = modules.Load(1, {.text = list, .code = list}, false, {.most_bytes = 200, .is_limit = true});
  ASSERT_TRUE(loaded) << loaded.error().text;
  EXPECT_EQ(loaded->other_bytes, 200u);
  const auto refused = modules.Load(2, {.text = list, .code = list}, false, {.most_bytes = 199, .is_limit = true});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, CUDA_ERROR_OUT_OF_MEMORY);
}

// A driver knows no lists: it links the images, each as what it is, and loads what they become.
TEST_F(ModulesTest, AListOfImagesIsLinked) {
  const auto string = [](std::span<const uint8_t> bytes) { return std::string(bytes.begin(), bytes.end()); };
  const auto cubin = image::CubinBuilder(90).Build();
  const auto fatbin = image::FatbinBuilder().Add(image::EntryKind::kElf, 90, string(cubin)).Build();
  const std::string text = WithTable(4);
  const std::span<const uint8_t> images[] = {cubin, fatbin, ImageOf(text).text};
  const auto list = image::PackImageList(images);
  Modules modules(vendor_, nullptr, 90);
  ASSERT_TRUE(modules.Load(1, {.text = list, .code = list}, false));
  EXPECT_THAT(driver_.linked, testing::ElementsAre(std::pair(CU_JIT_INPUT_CUBIN, string(cubin)),
                                                   std::pair(CU_JIT_INPUT_FATBINARY, string(fatbin)),
                                                   std::pair(CU_JIT_INPUT_PTX, text + '\0')));
  EXPECT_EQ(driver_.loaded_text, "linked");
  driver_.links = CUDA_ERROR_INVALID_PTX;
  const auto refused = modules.Load(2, {.text = list, .code = list}, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, CUDA_ERROR_INVALID_PTX);
}

TEST_F(ModulesTest, AListWithWhatCannotBeLinkedIsRefusedByName) {
  const std::vector<uint8_t> archive = {'!', '<', 'a', 'r', 'c', 'h', '>', '\n'};
  const std::span<const uint8_t> images[] = {archive};
  const auto list = image::PackImageList(images);
  Modules modules(vendor_, nullptr, 90);
  const auto refused = modules.Load(1, {.text = list, .code = list}, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, CUDA_ERROR_INVALID_IMAGE);
  EXPECT_THAT(refused.error().text, HasSubstr("among images that are to be linked"));
  EXPECT_TRUE(driver_.linked.empty());
}

}  // namespace
}  // namespace tutti::executor
