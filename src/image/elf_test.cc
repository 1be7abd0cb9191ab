#include "image/elf.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "image/testing_cubin.h"

namespace tutti::image {
namespace {

std::vector<uint8_t> Cubin(uint8_t abi_version, uint32_t flags) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_ABIVERSION] = abi_version;
  header.e_machine = 190;
  header.e_flags = flags;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  Elf64_Shdr sections[3]{};
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_offset = sizeof header + sizeof sections;
  sections[1].sh_size = 40;
  sections[2].sh_type = SHT_NOBITS;
  sections[2].sh_offset = sizeof header;
  sections[2].sh_size = 1 << 30;
  std::vector<uint8_t> bytes(sizeof header + sizeof sections + 40);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, sections, sizeof sections);
  return bytes;
}

TEST(ElfTest, AFileReachesToTheEndOfItsLastSection) {
  const auto cubin = Cubin(8, 0x6005004);
  EXPECT_EQ(ElfBytes(cubin.data()), cubin.size());
}

TEST(ElfTest, TheArchitectureOfOldAndNewCubinsIsRead) {
  EXPECT_EQ(CubinArch(Cubin(8, 0x6005a04)), 90u);
  EXPECT_EQ(CubinArch(Cubin(7, 0x550550)), 80u);
}

// 65,280 sections or more: their number is in the first of them.
TEST(ElfTest, AFileOfManySectionsReachesToItsEnd) {
  auto cubin = CubinBuilder(80).Add(".text.k", "code").Build();
  const size_t size = cubin.size();
  CubinBuilder::ChangeHeader(&cubin, [](Elf64_Ehdr& header) { header.e_shnum = 0; });
  CubinBuilder::ChangeSection(&cubin, 0, [](Elf64_Shdr& first) { first.sh_size = 3; });
  EXPECT_EQ(ElfBytes(cubin.data()), size);
  CubinBuilder::ChangeSection(&cubin, 0, [](Elf64_Shdr& first) { first.sh_size = ~uint64_t{0}; });
  EXPECT_EQ(ElfBytes(cubin.data()), 0u);
}

TEST(ElfTest, NumbersWithoutSenseAreRefused) {
  auto cubin = Cubin(8, 0x6005004);
  const uint64_t huge = ~uint64_t{0};
  std::memcpy(cubin.data() + offsetof(Elf64_Ehdr, e_shoff), &huge, sizeof huge);
  EXPECT_EQ(ElfBytes(cubin.data()), 0u);
  EXPECT_EQ(CubinArch({}), 0u);
}

}  // namespace
}  // namespace tutti::image
