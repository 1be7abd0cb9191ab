#include "image/cubin_ptx.h"

#include <gtest/gtest.h>

#include "cuda/result.h"
#include "image/testing_cubin.h"

namespace tutti::image {
namespace {

constexpr std::string_view kText = ".version 8.0\n.target sm_80\n.address_size 64\n\n.visible .entry k() {\nret;\n}\n";

std::vector<uint8_t> CubinWithPtx() {
  return CubinBuilder(80).Add(".text.k", "code").Add(kCarriedPtxSection, AsCarried(kText)).Build();
}

int CodeOf(const std::vector<uint8_t>& cubin) {
  const auto texts = CarriedPtx(cubin);
  return texts ? 0 : texts.error().code;
}

TEST(CubinPtxTest, LinesKeepTheirNumbers) {
  const auto cubin = CubinWithPtx();
  const auto texts = CarriedPtx(cubin);
  ASSERT_TRUE(texts) << texts.error().text;
  ASSERT_EQ(texts->size(), 1u);
  EXPECT_EQ(PtxFrom(texts->front()), std::string(8, '\n') + std::string(kText) + "\n");
}

TEST(CubinPtxTest, EachLinkedUnitHasItsOwn) {
  const auto cubin = CubinBuilder(80)
                         .Add(".nv_debug_ptx_txt.2769114052", AsCarried(".version 8.0 // a"))
                         .Add(".nv_debug_ptx_txt.1054545076", AsCarried(".version 8.0 // b"))
                         .Build();
  const auto texts = CarriedPtx(cubin);
  ASSERT_TRUE(texts) << texts.error().text;
  ASSERT_EQ(texts->size(), 2u);
  EXPECT_NE(PtxFrom((*texts)[0]).find("// a"), std::string::npos);
  EXPECT_NE(PtxFrom((*texts)[1]).find("// b"), std::string::npos);
}

TEST(CubinPtxTest, UnitsInOneSectionAreTakenApart) {
  const std::string first = AsCarried(".version 8.0\n.target sm_80");
  const std::string second = AsCarried(".version 8.0\n.target sm_80\n// .version 8.0\n.versions");
  const auto cubin = CubinBuilder(80).Add(".nv_debug_ptx_txt.2769114052", first + second).Build();
  const auto texts = CarriedPtx(cubin);
  ASSERT_TRUE(texts) << texts.error().text;
  ASSERT_EQ(texts->size(), 2u);
  const std::string eight_lines(8, '\n');
  EXPECT_EQ(PtxFrom((*texts)[0]), eight_lines + ".version 8.0\n.target sm_80\n" + eight_lines);
  EXPECT_EQ(PtxFrom((*texts)[1]), ".version 8.0\n.target sm_80\n// .version 8.0\n.versions\n");
}

// From sm_100 on a second copy is kept for the finalizer.
TEST(CubinPtxTest, SectionsOfSimilarNamesAreNotTaken) {
  const auto cubin = CubinBuilder(100)
                         .Add(".nv.merc.nv_debug_ptx_txt", AsCarried(kText))
                         .Add(".nv_debug_ptx_txts", AsCarried(kText))
                         .Add(".nv_debug_ptx_tx", AsCarried(kText))
                         .Build();
  const auto texts = CarriedPtx(cubin);
  ASSERT_TRUE(texts) << texts.error().text;
  EXPECT_TRUE(texts->empty());
}

TEST(CubinPtxTest, ASectionOfNulsHasNoPtx) {
  const auto cubin = CubinBuilder(80).Add(kCarriedPtxSection, std::string(100, '\0')).Build();
  const auto texts = CarriedPtx(cubin);
  ASSERT_TRUE(texts);
  EXPECT_TRUE(texts->empty());
}

TEST(CubinPtxTest, TextWithoutAnEndStopsAtItsSections) {
  auto cubin = CubinBuilder(80).Add(kCarriedPtxSection, ".version 8.0").Add(".text.k", "code").Build();
  const auto texts = CarriedPtx(cubin);
  ASSERT_TRUE(texts);
  EXPECT_EQ(PtxFrom(texts->front()), ".version 8.0");
}

TEST(CubinPtxTest, ASectionBeyondTheFileIsRefused) {
  for (const uint64_t huge : {uint64_t{1} << 20, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 100}) {
    auto cubin = CubinWithPtx();
    CubinBuilder::ChangeSection(&cubin, 3, [=](Elf64_Shdr& section) { section.sh_offset = huge; });
    EXPECT_EQ(CodeOf(cubin), cuda::CUDA_ERROR_INVALID_IMAGE) << huge;
    cubin = CubinWithPtx();
    CubinBuilder::ChangeSection(&cubin, 3, [=](Elf64_Shdr& section) { section.sh_size = huge; });
    EXPECT_EQ(CodeOf(cubin), cuda::CUDA_ERROR_INVALID_IMAGE) << huge;
    cubin = CubinWithPtx();
    CubinBuilder::ChangeSection(&cubin, 1, [=](Elf64_Shdr& names) { names.sh_size = huge; });
    EXPECT_EQ(CodeOf(cubin), cuda::CUDA_ERROR_INVALID_IMAGE) << huge;
    cubin = CubinWithPtx();
    CubinBuilder::ChangeHeader(&cubin, [=](Elf64_Ehdr& header) { header.e_shoff = huge; });
    EXPECT_EQ(CodeOf(cubin), cuda::CUDA_ERROR_INVALID_IMAGE) << huge;
  }
}

TEST(CubinPtxTest, CountsThatLieAreRefused) {
  auto cubin = CubinWithPtx();
  CubinBuilder::ChangeHeader(&cubin, [](Elf64_Ehdr& header) { header.e_shnum = 0xff00 - 1; });
  EXPECT_EQ(CodeOf(cubin), cuda::CUDA_ERROR_INVALID_IMAGE);
  cubin = CubinWithPtx();
  CubinBuilder::ChangeHeader(&cubin, [](Elf64_Ehdr& header) { header.e_shstrndx = 77; });
  EXPECT_EQ(CodeOf(cubin), cuda::CUDA_ERROR_INVALID_IMAGE);
  for (const uint64_t count : {uint64_t{0}, uint64_t{5}, uint64_t{1} << 58, ~uint64_t{0}}) {
    cubin = CubinWithPtx();
    CubinBuilder::ChangeHeader(&cubin, [](Elf64_Ehdr& header) { header.e_shnum = 0; });
    CubinBuilder::ChangeSection(&cubin, 0, [=](Elf64_Shdr& first) { first.sh_size = count; });
    EXPECT_EQ(CodeOf(cubin), cuda::CUDA_ERROR_INVALID_IMAGE) << count;
  }
}

TEST(CubinPtxTest, NumbersTooLargeForTheHeaderAreInTheFirstSection) {
  auto cubin = CubinWithPtx();
  CubinBuilder::ChangeHeader(&cubin, [](Elf64_Ehdr& header) { header.e_shnum = 0, header.e_shstrndx = SHN_XINDEX; });
  CubinBuilder::ChangeSection(&cubin, 0, [](Elf64_Shdr& first) { first.sh_size = 4, first.sh_link = 1; });
  const auto texts = CarriedPtx(cubin);
  ASSERT_TRUE(texts) << texts.error().text;
  EXPECT_EQ(texts->size(), 1u);
}

TEST(CubinPtxTest, ANameBeyondTheNamesIsNoName) {
  auto cubin = CubinWithPtx();
  for (const Elf64_Word name : {~Elf64_Word{0}, Elf64_Word{20}}) {
    CubinBuilder::ChangeSection(&cubin, 3, [=](Elf64_Shdr& section) { section.sh_name = name; });
    const auto texts = CarriedPtx(cubin);
    ASSERT_TRUE(texts) << texts.error().text;
    EXPECT_TRUE(texts->empty());
  }
}

TEST(CubinPtxTest, ACompressedSectionIsRefused) {
  const auto cubin = CubinBuilder(80).Add(kCarriedPtxSection, AsCarried(kText), SHF_COMPRESSED).Build();
  EXPECT_EQ(CodeOf(cubin), cuda::CUDA_ERROR_INVALID_IMAGE);
}

TEST(CubinPtxTest, EveryTruncationIsRefused) {
  const auto cubin = CubinWithPtx();
  for (size_t size = 0; size < cubin.size(); ++size) {
    const std::vector<uint8_t> cut(cubin.begin(), cubin.begin() + static_cast<long>(size));
    EXPECT_EQ(CodeOf(cut), cuda::CUDA_ERROR_INVALID_IMAGE) << size;
  }
}

TEST(CubinPtxTest, ASectionOfCountlessTextsIsRefused) {
  std::string texts;
  for (int i = 0; i < 100'000; ++i) texts += std::string(".version ") + '\0';
  CubinBuilder builder(80);
  builder.Add(kCarriedPtxSection, texts);
  EXPECT_FALSE(CarriedPtx(builder.Build()));
}

}  // namespace
}  // namespace tutti::image
