#include "image/ptx_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/result.h"
#include "image/image_list.h"
#include "image/testing_fatbin.h"

namespace tutti::image {
namespace {

using testing::HasSubstr;

std::vector<uint8_t> Bytes(std::string_view text) { return {text.begin(), text.end()}; }

TEST(PtxSelectionTest, TheNewestArchitectureWins) {
  const auto bytes = FatbinBuilder()
                         .Add(EntryKind::kPtx, 75, ".version 9.0 // old")
                         .Add(EntryKind::kElf, 120, "code")
                         .Add(EntryKind::kPtx, 90, ".version 9.0 // new", Packing::kZstd)
                         .Add(EntryKind::kPtx, 80, ".version 9.0 // middle")
                         .Build();
  const auto texts = SelectPtx(bytes);
  ASSERT_TRUE(texts) << texts.error().text;
  ASSERT_EQ(texts->size(), 1u);
  EXPECT_EQ(texts->front().arch, 90u);
  EXPECT_EQ(texts->front().text, ".version 9.0 // new");
}

// As a GPU would: what host code learns of the device and what runs on it agree.
TEST(PtxSelectionTest, TheNewestThatTheCapabilityAllowsWins) {
  const auto arch = [](std::vector<uint32_t> archs, uint32_t capability) {
    FatbinBuilder builder;
    for (const uint32_t arch : archs) builder.Add(EntryKind::kPtx, arch, ".version 9.0");
    return SelectPtx(builder.Build(), capability).value().front().arch;
  };
  EXPECT_EQ(arch({75, 90, 80, 120}, 80), 80u);
  EXPECT_EQ(arch({120, 75, 90}, 80), 75u);
  EXPECT_EQ(arch({75, 90, 120}, 120), 120u);
  EXPECT_EQ(arch({120, 90, 100}, 80), 90u) << "none is allowed: rather the oldest than none";
}

TEST(PtxSelectionTest, GenericCodeWinsOverArchitectureSpecificCode) {
  const auto bytes = FatbinBuilder()
                         .Add(EntryKind::kPtx, 90, ".version 9.0 // sm_90a", Packing::kPlain, kFlagArchSpecific)
                         .Add(EntryKind::kPtx, 90, ".version 9.0 // sm_90")
                         .Build();
  const auto texts = SelectPtx(bytes);
  ASSERT_TRUE(texts);
  EXPECT_THAT(texts->front().text, HasSubstr("// sm_90"));
  EXPECT_THAT(texts->front().text, testing::Not(HasSubstr("sm_90a")));
}

TEST(PtxSelectionTest, MachineCodeOnlySaysForWhatAndHowToRebuild) {
  const auto bytes = FatbinBuilder().Add(EntryKind::kElf, 80, "code").Add(EntryKind::kElf, 90, "code").Build();
  const auto texts = SelectPtx(bytes);
  ASSERT_FALSE(texts);
  EXPECT_EQ(texts.error().code, cuda::CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_THAT(texts.error().text, HasSubstr("sm_80, sm_90"));
  EXPECT_THAT(texts.error().text, HasSubstr("-gencode arch=compute_75,code=compute_75"));
}

TEST(PtxSelectionTest, AllUnitsOfAListAreReturned) {
  const auto first = FatbinBuilder().Add(EntryKind::kPtx, 75, ".version 9.0 // a").Build();
  const auto second = Bytes(".version 8.0 // b");
  const std::span<const uint8_t> images[] = {first, second};
  const auto texts = SelectPtx(PackImageList(images));
  ASSERT_TRUE(texts) << texts.error().text;
  ASSERT_EQ(texts->size(), 2u);
  EXPECT_THAT((*texts)[0].text, HasSubstr("// a"));
  EXPECT_THAT((*texts)[1].text, HasSubstr("// b"));
}

TEST(PtxSelectionTest, TextIsTakenWithoutItsTrailingNuls) {
  auto bytes = Bytes(".version 9.0\n");
  bytes.resize(bytes.size() + 5);
  const auto texts = SelectPtx(bytes);
  ASSERT_TRUE(texts);
  EXPECT_EQ(texts->front().text, ".version 9.0\n");
}

TEST(PtxSelectionTest, DamageIsReportedAsSuch) {
  auto bytes = FatbinBuilder().Add(EntryKind::kPtx, 75, std::string(1000, 'x'), Packing::kZstd).Build();
  bytes[16 + 64 + 4] ^= 0xff;
  const auto texts = SelectPtx(bytes);
  ASSERT_FALSE(texts);
  EXPECT_EQ(texts.error().code, cuda::CUDA_ERROR_INVALID_IMAGE);
  EXPECT_FALSE(SelectPtx({}));
  EXPECT_FALSE(SelectPtx(Bytes("hello")));
}

TEST(PtxSelectionTest, AListWithinAListIsRefused) {
  const auto inner = PackImageList({});
  const std::span<const uint8_t> images[] = {inner};
  EXPECT_FALSE(SelectPtx(PackImageList(images)));
}

}  // namespace
}  // namespace tutti::image
