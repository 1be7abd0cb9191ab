#include "image/cubin_symbols.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "image/elf.h"
#include "image/image_list.h"
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

// A driver that is given no length may read what comes first all the same.
TEST(CubinSymbols, WhatIsNoFatBinaryToUsIsUnreadButForText) {
  const auto cubin = Cubin();
  const std::string_view code(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  std::vector<uint8_t> image = FatbinBuilder().Add(EntryKind::kElf, 80, code).Build();
  EXPECT_FALSE(ReadCubinSymbols(image, kUnpacked, 80).is_unread);
  image.push_back(1);
  EXPECT_TRUE(ReadCubinSymbols(image, kUnpacked, 80).is_unread);
  const std::string_view text = ".version 8.0\n.target sm_80\n.address_size 64\n";
  EXPECT_FALSE(ReadCubinSymbols({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, kUnpacked, 80).is_unread);
}

TEST(CubinSymbols, AreThoseOfAllMachineCodeInFatBinaries) {
  const auto cubin = Cubin();
  const std::string_view text(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  ExpectNamesOfCubin(
      FatbinBuilder().Add(EntryKind::kElf, 80, text).Add(EntryKind::kElf, 90, text, Packing::kZstd).Build());
}

std::vector<uint8_t> ListOf(std::initializer_list<std::span<const uint8_t>> images) {
  return PackImageList({images.begin(), images.size()});
}

// As of several translation units, and cuLinkAddData.
TEST(CubinSymbols, AreThoseOfAllImagesInAList) {
  const auto first = Cubin();
  const auto second = CubinBuilder(80).Add(".nv.global.init", std::string(100, 'x'), SHF_ALLOC).Build();
  const std::string_view code(reinterpret_cast<const char*>(second.data()), second.size());
  const auto packed = FatbinBuilder().Add(EntryKind::kElf, 80, code, Packing::kZstd).Build();
  const std::string_view ptx = ".version 8.0\n.target sm_80\n.address_size 64\n";
  const std::span text(reinterpret_cast<const uint8_t*>(ptx.data()), ptx.size());
  const auto list = ListOf({first, second, packed, text});
  ExpectNamesOfCubin(list);
  const CubinSymbols symbols = ReadCubinSymbols(list, kUnpacked, 80);
  EXPECT_FALSE(symbols.is_unread);
  EXPECT_EQ(symbols.units, 4u);
  EXPECT_EQ(symbols.variable_bytes, 200u);
  EXPECT_TRUE(ReadCubinSymbols(ListOf({first, packed}), second.size() - 1, 80).is_unread) << "too large to unpack";
  EXPECT_TRUE(ReadCubinSymbols(ListOf({packed, packed}), second.size(), 80).is_unread) << "all of them together";
  EXPECT_TRUE(ReadCubinSymbols(ListOf({first, ListOf({first})}), kUnpacked, 80).is_unread);
  EXPECT_TRUE(ReadCubinSymbols({list.data(), list.size() - 8}, kUnpacked, 80).is_unread) << "it is cut short";
}

// Whatever symbols say: they are others' memory that this counts.
TEST(CubinSymbols, VariablesTakeWhatTheirSectionsDo) {
  auto cubin = CubinBuilder(80)
                   .Add(".nv.global.init", std::string(100, 'x'), SHF_ALLOC)
                   .Add(".nv.constant3", std::string(20, 'x'), SHF_ALLOC)
                   .Add(".nv.global", std::string(4, 'x'), SHF_ALLOC)
                   .Add(".nv.shared.k", std::string(3000, 'x'), SHF_ALLOC)
                   .Add(".nv.global.notes", std::string(5000, 'x'))
                   .Build();
  CubinBuilder::ChangeSection(&cubin, 4, [](Elf64_Shdr& section) {
    section.sh_type = SHT_NOBITS;
    section.sh_size = 60ull << 30;
  });
  EXPECT_EQ(ReadCubinSymbols(cubin, kUnpacked).variable_bytes, (60ull << 30) + 120);
  const std::string_view text(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  const auto packed = FatbinBuilder().Add(EntryKind::kElf, 80, text, Packing::kZstd).Build();
  EXPECT_EQ(ReadCubinSymbols(packed, kUnpacked, 89).variable_bytes, (60ull << 30) + 120);
  EXPECT_EQ(ReadCubinSymbols(packed, kUnpacked, 75).variable_bytes, 0u) << "it is older than the code";
  EXPECT_EQ(ReadCubinSymbols(packed, kUnpacked, 90).variable_bytes, 0u) << "it runs no such code";
  CubinBuilder::ChangeSection(&cubin, 2, [](Elf64_Shdr& section) { section.sh_size = ~0ull; });
  EXPECT_EQ(BytesWhenLoaded(cubin, std::to_array<std::string_view>({".nv.global"})), ~0ull);
}

TEST(CubinSymbols, CodeThatADeviceRunsAndThatCannotBeReadIsSaidToBeUnread) {
  const auto cubin = Cubin();
  const std::string_view text(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  const auto image =
      FatbinBuilder().Add(EntryKind::kElf, 90, "no ELF file").Add(EntryKind::kElf, 80, text, Packing::kZstd).Build();
  EXPECT_TRUE(ReadCubinSymbols(image, kUnpacked, 90).is_unread);
  EXPECT_FALSE(ReadCubinSymbols(image, kUnpacked, 80).is_unread);
  EXPECT_TRUE(ReadCubinSymbols(image, cubin.size() - 1, 80).is_unread) << "there is no room to unpack it";
  EXPECT_FALSE(ReadCubinSymbols(image, cubin.size(), 80).is_unread) << "what may run is unpacked first";
}

// Each symbol may have a long name that begins a byte behind the last one's.
TEST(CubinSymbols, NamesTakeABoundedPartOfMemory) {
  constexpr size_t kLong = 1 << 20, kSymbols = 4096;
  std::string symbols;
  for (uint32_t i = 0; i < kSymbols; ++i) symbols += Symbol(kLong - kMostSymbolName + i, STT_OBJECT);
  const auto cubin = CubinBuilder(80)
                         .Add(".strtab", std::string(kLong, 'x') + std::string(1, '\0'))
                         .Add(".symtab", Symbol(0, STT_OBJECT) + symbols)
                         .Build();
  size_t sum = 0;
  const auto variables = ReadCubinSymbols(cubin, kUnpacked).variables;
  for (const auto& [name, is_managed] : variables) {
    EXPECT_LE(name.size(), kMostSymbolName);
    sum += name.size();
  }
  EXPECT_GT(variables.size(), 100u);
  EXPECT_LE(sum, kMostSymbolNames);
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
