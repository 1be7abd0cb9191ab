#include "image/ptx_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/result.h"
#include "image/image_list.h"
#include "image/testing_cubin.h"
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

std::string CubinCarrying(uint32_t arch, std::string_view ptx) {
  const auto bytes = CubinBuilder(arch).Add(".text.k", "code").Add(kCarriedPtxSection, AsCarried(ptx)).Build();
  return {bytes.begin(), bytes.end()};
}

std::string CubinWithoutPtx(uint32_t arch) {
  const auto bytes = CubinBuilder(arch).Add(".text.k", "code").Build();
  return {bytes.begin(), bytes.end()};
}

TEST(PtxSelectionTest, ACubinGivesThePtxThatItCarries) {
  const auto texts = SelectPtx(Bytes(CubinCarrying(86, ".version 8.0 // inside")));
  ASSERT_TRUE(texts) << texts.error().text;
  ASSERT_EQ(texts->size(), 1u);
  EXPECT_EQ(texts->front().arch, 86u);
  EXPECT_EQ(texts->front().text, std::string(8, '\n') + ".version 8.0 // inside\n");
}

TEST(PtxSelectionTest, ACubinWithoutPtxSaysForWhat) {
  const auto texts = SelectPtx(Bytes(CubinWithoutPtx(90)));
  ASSERT_FALSE(texts);
  EXPECT_EQ(texts.error().code, cuda::CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_THAT(texts.error().text, HasSubstr("sm_90"));
  EXPECT_THAT(texts.error().text, HasSubstr("-lineinfo"));
}

TEST(PtxSelectionTest, AFatbinOfMachineCodeGivesWhatItsBestCodeCarries) {
  for (const Packing packing : {Packing::kPlain, Packing::kLz4, Packing::kZstd}) {
    const auto bytes = FatbinBuilder()
                           .Add(EntryKind::kElf, 90, CubinCarrying(90, ".version 8.0 // 90"), packing)
                           .Add(EntryKind::kElf, 80, CubinWithoutPtx(80), packing)
                           .Add(EntryKind::kElf, 75, CubinCarrying(75, ".version 8.0 // 75"), packing)
                           .Build();
    const auto texts = SelectPtx(bytes, 80);
    ASSERT_TRUE(texts) << texts.error().text;
    ASSERT_EQ(texts->size(), 1u);
    EXPECT_EQ(texts->front().arch, 75u);
    EXPECT_THAT(texts->front().text, HasSubstr("// 75"));
  }
}

TEST(PtxSelectionTest, PtxBesideMachineCodeWinsOverPtxInIt) {
  const auto bytes = FatbinBuilder()
                         .Add(EntryKind::kElf, 80, CubinCarrying(80, ".version 8.0 // inside"))
                         .Add(EntryKind::kPtx, 75, ".version 8.0 // beside")
                         .Build();
  const auto texts = SelectPtx(bytes, 80);
  ASSERT_TRUE(texts);
  ASSERT_EQ(texts->size(), 1u);
  EXPECT_THAT(texts->front().text, HasSubstr("// beside"));
}

TEST(PtxSelectionTest, MachineCodeThatLiesAboutItsPtxIsRefused) {
  auto cubin = Bytes(CubinCarrying(80, ".version 8.0"));
  CubinBuilder::ChangeSection(&cubin, 3, [](Elf64_Shdr& section) { section.sh_size = 1 << 20; });
  for (const auto& bytes :
       {cubin, FatbinBuilder().Add(EntryKind::kElf, 80, std::string(cubin.begin(), cubin.end())).Build()}) {
    const auto texts = SelectPtx(bytes);
    ASSERT_FALSE(texts);
    EXPECT_EQ(texts.error().code, cuda::CUDA_ERROR_INVALID_IMAGE);
  }
}

TEST(PtxSelectionTest, MachineCodeThatNobodyNeedsRefusesNothing) {
  auto cubin = Bytes(CubinCarrying(80, ".version 8.0"));
  CubinBuilder::ChangeSection(&cubin, 3, [](Elf64_Shdr& section) { section.sh_size = 1 << 20; });
  // Units of one image, as of a program of several files.
  auto image = FatbinBuilder().Add(EntryKind::kPtx, 75, ".version 9.0 // a").Build();
  const auto second = FatbinBuilder().Add(EntryKind::kElf, 80, std::string(cubin.begin(), cubin.end())).Build();
  image.insert(image.end(), second.begin(), second.end());
  const auto texts = SelectPtx(image);
  ASSERT_TRUE(texts) << texts.error().text;
  EXPECT_EQ(texts->size(), 1u);
}

// A hundred sections that are the same 8 MiB.
TEST(PtxSelectionTest, SectionsThatAreManyTimesTheFileAreRefused) {
  CubinBuilder builder(80);
  builder.Add(kCarriedPtxSection, std::string(8 << 20, 'x'));
  for (int i = 0; i < 100; ++i) builder.Add(kCarriedPtxSection, "x");
  auto cubin = builder.Build();
  for (size_t i = 3; i < 103; ++i) {
    CubinBuilder::ChangeSection(&cubin, i, [](Elf64_Shdr& section) {
      section.sh_offset = sizeof(Elf64_Ehdr);
      section.sh_size = 8 << 20;
    });
  }
  const auto texts = SelectPtx(cubin);
  ASSERT_FALSE(texts);
  EXPECT_EQ(texts.error().code, cuda::CUDA_ERROR_INVALID_IMAGE);
  EXPECT_THAT(texts.error().text, HasSubstr("overlap"));
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
