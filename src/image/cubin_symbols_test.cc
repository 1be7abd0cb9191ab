#include "image/cubin_symbols.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <string>

#include "image/testing_cubin.h"
#include "image/testing_fatbin.h"

namespace tutti::image {
namespace {

constexpr uint64_t kUnpacked = 1 << 20;

std::string Symbol(uint32_t name, uint8_t type, uint8_t other = 0, uint16_t section = 1) {
  const Elf64_Sym symbol{.st_name = name,
                         .st_info = static_cast<uint8_t>(ELF64_ST_INFO(STB_LOCAL, type)),
                         .st_other = other,
                         .st_shndx = section,
                         .st_value = 0,
                         .st_size = 4};
  return {reinterpret_cast<const char*>(&symbol), sizeof symbol};
}

const std::string kNames("\0table\0kernel\0shared_by_all\0last\0vprintf", 40);

std::vector<uint8_t> Cubin() {
  return CubinBuilder(80)
      .Add(".strtab", kNames)
      .Add(".symtab", Symbol(0, STT_NOTYPE) + Symbol(1, STT_OBJECT) + Symbol(7, STT_FUNC) + Symbol(14, STT_OBJECT, 4) +
                          Symbol(28, STT_OBJECT) + Symbol(33, STT_FUNC, 0, SHN_UNDEF) + Symbol(400, STT_OBJECT) + "cut")
      .Build();
}

void ExpectNamesOfCubin(std::span<const uint8_t> image) {
  const CubinSymbols symbols = ReadCubinSymbols(image, kUnpacked);
  EXPECT_EQ(symbols.variables,
            (std::map<std::string, bool>{{"last", false}, {"shared_by_all", true}, {"table", false}}));
  EXPECT_EQ(symbols.missing, std::set<std::string>{"vprintf"}) << "not the kernel";
}

bool HasNone(std::span<const uint8_t> image, uint64_t limit) {
  const CubinSymbols symbols = ReadCubinSymbols(image, limit);
  return symbols.variables.empty() && symbols.missing.empty();
}

TEST(CubinSymbols, AreObjectsAndTheFunctionsThatAreMissing) { ExpectNamesOfCubin(Cubin()); }

TEST(CubinSymbols, AreThoseOfAllMachineCodeInFatBinaries) {
  const auto cubin = Cubin();
  const std::string_view text(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  ExpectNamesOfCubin(
      FatbinBuilder().Add(EntryKind::kElf, 80, text).Add(EntryKind::kElf, 90, text, Packing::kZstd).Build());
}

TEST(CubinSymbols, WhatIsDamagedOrTooLargeHasNone) {
  auto cubin = Cubin();
  const std::string_view text(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  EXPECT_TRUE(HasNone(FatbinBuilder().Add(EntryKind::kElf, 80, text, Packing::kLz4).Build(), cubin.size() - 1));
  cubin.resize(cubin.size() / 2);
  EXPECT_TRUE(HasNone(cubin, kUnpacked));
  EXPECT_TRUE(HasNone({}, kUnpacked));
  EXPECT_TRUE(HasNone(CubinBuilder(80).Add(".strtab", kNames).Build(), kUnpacked));
}

}  // namespace
}  // namespace tutti::image
