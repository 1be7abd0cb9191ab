#include "image/elf.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

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

TEST(ElfTest, NumbersWithoutSenseAreRefused) {
  auto cubin = Cubin(8, 0x6005004);
  const uint64_t huge = ~uint64_t{0};
  std::memcpy(cubin.data() + offsetof(Elf64_Ehdr, e_shoff), &huge, sizeof huge);
  EXPECT_EQ(ElfBytes(cubin.data()), 0u);
  EXPECT_EQ(CubinArch({}), 0u);
}

}  // namespace
}  // namespace tutti::image
