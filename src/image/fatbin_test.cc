#include "image/fatbin.h"

#include <gtest/gtest.h>

#include "cuda/result.h"
#include "image/testing_fatbin.h"

namespace tutti::image {
namespace {

constexpr std::string_view kText = ".version 9.0\n.target sm_75\n.address_size 64\n";

std::string Unpacked(const FatbinEntry& entry) {
  const auto bytes = PayloadOf(entry, 1 << 20);
  return bytes ? std::string(bytes->begin(), bytes->end()) : "error: " + bytes.error().text;
}

TEST(FatbinTest, EntriesAreFoundWithKindArchAndPayload) {
  const auto bytes = FatbinBuilder().Add(EntryKind::kElf, 80, "machine code").Add(EntryKind::kPtx, 75, kText).Build();
  const auto fatbins = ReadFatbins(bytes);
  ASSERT_TRUE(fatbins) << fatbins.error().text;
  ASSERT_EQ(fatbins->entries.size(), 2u);
  EXPECT_EQ(fatbins->entries[0].kind, EntryKind::kElf);
  EXPECT_EQ(fatbins->entries[0].arch, 80u);
  EXPECT_EQ(fatbins->entries[1].kind, EntryKind::kPtx);
  EXPECT_EQ(fatbins->entries[1].version_major, 9);
  EXPECT_EQ(Unpacked(fatbins->entries[1]).substr(0, kText.size()), kText);
}

TEST(FatbinTest, CompressedEntriesAreUnpacked) {
  const auto bytes = FatbinBuilder()
                         .Add(EntryKind::kPtx, 75, kText, Packing::kLz4)
                         .Add(EntryKind::kPtx, 80, kText, Packing::kZstd)
                         .Build();
  const auto fatbins = ReadFatbins(bytes);
  ASSERT_TRUE(fatbins) << fatbins.error().text;
  EXPECT_EQ(Unpacked(fatbins->entries.at(0)), kText);
  EXPECT_EQ(Unpacked(fatbins->entries.at(1)), kText);
}

TEST(FatbinTest, FatbinsThatFollowEachOtherAreUnits) {
  auto bytes = FatbinBuilder().Add(EntryKind::kPtx, 75, kText).Build();
  const auto second = FatbinBuilder().Add(EntryKind::kPtx, 80, kText).Build();
  bytes.insert(bytes.end(), second.begin(), second.end());
  bytes.resize(bytes.size() + 24);  // padding
  const auto fatbins = ReadFatbins(bytes);
  ASSERT_TRUE(fatbins) << fatbins.error().text;
  EXPECT_EQ(fatbins->units, 2u);
  EXPECT_EQ(fatbins->entries.at(1).unit, 1u);
}

TEST(FatbinTest, AnEmptyFatbinHasNoEntries) {
  const auto fatbins = ReadFatbins(FatbinBuilder().Build());
  ASSERT_TRUE(fatbins);
  EXPECT_TRUE(fatbins->entries.empty());
}

TEST(FatbinTest, EveryTruncationIsRefused) {
  const auto whole =
      FatbinBuilder().Add(EntryKind::kElf, 80, "machine code").Add(EntryKind::kPtx, 75, kText, Packing::kZstd).Build();
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<long>(size));
    const auto fatbins = ReadFatbins(cut);
    ASSERT_FALSE(fatbins) << size;
    EXPECT_EQ(fatbins.error().code, cuda::CUDA_ERROR_INVALID_IMAGE);
  }
}

TEST(FatbinTest, SizesThatOverflowAreRefused) {
  for (const size_t field : {16 + 4, 16 + 8, 16 + 16}) {
    auto bytes = FatbinBuilder().Add(EntryKind::kPtx, 75, kText, Packing::kZstd).Build();
    FatbinBuilder::Store(&bytes, field, ~uint32_t{0});
    EXPECT_FALSE(ReadFatbins(bytes)) << field;
  }
  auto bytes = FatbinBuilder().Add(EntryKind::kPtx, 75, kText).Build();
  FatbinBuilder::Store(&bytes, 8, ~uint64_t{0});
  EXPECT_FALSE(ReadFatbins(bytes));
}

TEST(FatbinTest, AnEntryHeaderOfNoBytesDoesNotLoopForEver) {
  auto bytes = FatbinBuilder().Add(EntryKind::kPtx, 75, kText).Build();
  FatbinBuilder::Store(&bytes, 16 + 4, uint32_t{0});
  EXPECT_FALSE(ReadFatbins(bytes));
}

}  // namespace
}  // namespace tutti::image
