#include "image/cubin_variables.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <string>

#include "image/testing_cubin.h"
#include "image/testing_fatbin.h"

namespace tutti::image {
namespace {

constexpr uint64_t kUnpacked = 1 << 20;

std::string Symbol(uint32_t name, uint8_t type, uint8_t other = 0) {
  const Elf64_Sym symbol{.st_name = name,
                         .st_info = ELF64_ST_INFO(STB_LOCAL, type),
                         .st_other = other,
                         .st_shndx = 1,
                         .st_value = 0,
                         .st_size = 4};
  return {reinterpret_cast<const char*>(&symbol), sizeof symbol};
}

const std::string kNames("\0table\0kernel\0shared_by_all\0last", 32);

std::vector<uint8_t> Cubin() {
  return CubinBuilder(80)
      .Add(".strtab", kNames)
      .Add(".symtab", Symbol(0, STT_NOTYPE) + Symbol(1, STT_OBJECT) + Symbol(7, STT_FUNC) + Symbol(14, STT_OBJECT, 4) +
                          Symbol(28, STT_OBJECT) + Symbol(400, STT_OBJECT) + "cut")
      .Build();
}

void ExpectNamesOfCubin(std::span<const uint8_t> image) {
  const auto variables = CubinVariables(image, kUnpacked);
  ASSERT_EQ(variables.size(), 3u);
  EXPECT_EQ(variables[0].name, "last");
  EXPECT_EQ(variables[1].name, "shared_by_all");
  EXPECT_TRUE(variables[1].is_managed);
  EXPECT_EQ(variables[2].name, "table");
  EXPECT_FALSE(variables[2].is_managed);
}

TEST(CubinVariables, AreTheObjectsThatItsSymbolsName) { ExpectNamesOfCubin(Cubin()); }

TEST(CubinVariables, OfAllMachineCodeInFatBinariesEachOnce) {
  const auto cubin = Cubin();
  const std::string_view text(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  ExpectNamesOfCubin(
      FatbinBuilder().Add(EntryKind::kElf, 80, text).Add(EntryKind::kElf, 90, text, Packing::kZstd).Build());
}

TEST(CubinVariables, WhatIsDamagedOrTooLargeHasNone) {
  auto cubin = Cubin();
  const std::string_view text(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  EXPECT_TRUE(
      CubinVariables(FatbinBuilder().Add(EntryKind::kElf, 80, text, Packing::kLz4).Build(), cubin.size() - 1).empty());
  cubin.resize(cubin.size() / 2);
  EXPECT_TRUE(CubinVariables(cubin, kUnpacked).empty());
  EXPECT_TRUE(CubinVariables({}, kUnpacked).empty());
  EXPECT_TRUE(CubinVariables(CubinBuilder(80).Add(".strtab", kNames).Build(), kUnpacked).empty());
}

}  // namespace
}  // namespace tutti::image
