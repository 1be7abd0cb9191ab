#include "image/code_census.h"

#include <gtest/gtest.h>

#include "image/testing_cubin.h"
#include "image/testing_fatbin.h"

namespace tutti::image {
namespace {

using Archs = std::set<uint32_t>;
constexpr uint64_t kMost = 1 << 20;

std::string Text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }
std::string Bare(uint32_t arch) { return Text(CubinBuilder(arch).Add(".text.k", "code").Build()); }
std::string Carrying(uint32_t arch) {
  return Text(CubinBuilder(arch).Add(".text.k", "code").Add(kCarriedPtxSection, AsCarried(".version 8.0")).Build());
}

CodeCensus Count(const std::vector<FatbinBuilder>& fatbins, uint64_t most = kMost) {
  std::vector<uint8_t> bytes;
  for (const FatbinBuilder& fatbin : fatbins) {
    const auto one = fatbin.Build();
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  CodeCensus census;
  const auto counted = CountCode(bytes, most, &census);
  EXPECT_TRUE(counted) << counted.error().text;
  return census;
}

TEST(CodeCensusTest, ImagesWithAndWithoutPtxAreCounted) {
  const auto census = Count({FatbinBuilder().Add(EntryKind::kElf, 80, Bare(80)).Add(EntryKind::kPtx, 90, ".version 8"),
                             FatbinBuilder().Add(EntryKind::kElf, 80, Bare(80)).Add(EntryKind::kElf, 86, Bare(86))});
  EXPECT_EQ(census.images, 2u);
  EXPECT_EQ(census.with_ptx, 1u);
  EXPECT_EQ(census.ptx_archs, Archs{90});
  EXPECT_EQ(census.machine_archs, (Archs{80, 86}));
}

TEST(CodeCensusTest, PtxThatMachineCodeCarriesCounts) {
  for (const Packing packing : {Packing::kPlain, Packing::kZstd}) {
    const auto census = Count(
        {FatbinBuilder().Add(EntryKind::kElf, 75, Bare(75), packing).Add(EntryKind::kElf, 80, Carrying(80), packing)});
    EXPECT_TRUE(census.all_have_ptx());
    EXPECT_EQ(census.ptx_archs, Archs{80});
    EXPECT_EQ(census.machine_archs, Archs{});
  }
}

TEST(CodeCensusTest, AnEmptyFatbinIsNoImage) {
  const auto census = Count({FatbinBuilder(), FatbinBuilder().Add(EntryKind::kPtx, 90, ".version 8")});
  EXPECT_EQ(census.images, 1u);
  EXPECT_TRUE(census.all_have_ptx());
}

// What the device linker of nvcc leaves in a program without relocatable code.
TEST(CodeCensusTest, MachineCodeWithoutFunctionsIsNoImage) {
  const std::string stub = Text(CubinBuilder(80).Add(".nv.info", "").Build());
  EXPECT_EQ(Count({FatbinBuilder().Add(EntryKind::kElf, 80, stub)}).images, 0u);
  EXPECT_EQ(Count({FatbinBuilder().Add(EntryKind::kElf, 80, "damaged")}).images, 1u);
}

TEST(CodeCensusTest, IntermediateCodeIsNoPtx) {
  const auto census = Count({FatbinBuilder().Add(EntryKind::kLtoIr, 90, "code")});
  EXPECT_EQ(census.images, 1u);
  EXPECT_EQ(census.with_ptx, 0u);
  EXPECT_EQ(census.machine_archs, Archs{});
}

TEST(CodeCensusTest, DecompressingEnds) {
  const std::string carrying = Carrying(80);
  const std::vector<FatbinBuilder> two = {FatbinBuilder().Add(EntryKind::kElf, 80, carrying, Packing::kZstd),
                                          FatbinBuilder().Add(EntryKind::kElf, 80, carrying, Packing::kZstd)};
  EXPECT_EQ(Count(two, 2 * carrying.size()).with_ptx, 2u);
  EXPECT_EQ(Count(two, 2 * carrying.size()).unseen, 0u);
  EXPECT_EQ(Count(two, 2 * carrying.size() - 1).with_ptx, 1u);
  EXPECT_EQ(Count(two, 2 * carrying.size() - 1).unseen, 1u);
}

TEST(CodeCensusTest, DamageIsReportedAsSuch) {
  CodeCensus census;
  EXPECT_FALSE(CountCode(std::vector<uint8_t>(100, 'x'), kMost, &census));
}

}  // namespace
}  // namespace tutti::image
