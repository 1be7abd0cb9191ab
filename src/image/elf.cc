#include "image/elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace tutti::image {
namespace {

constexpr uint16_t kMachineCuda = 190;
constexpr uint64_t kLargestFile = uint64_t{1} << 40;
// Until ABI version 7 the architecture is the lowest byte of e_flags; then the second.
constexpr uint8_t kAbiWithWideArch = 8;

bool IsElf64(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB;
}

}  // namespace

uint64_t ElfBytes(const uint8_t* file) {
  Elf64_Ehdr header;
  std::memcpy(&header, file, sizeof header);
  if (!IsElf64(header)) return 0;
  uint64_t end = sizeof header;
  const auto reach = [&end](uint64_t offset, uint64_t size) {
    if (offset > kLargestFile || size > kLargestFile) return false;
    end = std::max(end, offset + size);
    return true;
  };
  if (header.e_phnum != 0 && !reach(header.e_phoff, uint64_t{header.e_phnum} * header.e_phentsize)) return 0;
  if (header.e_shnum == 0) return end;
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return 0;
  if (!reach(header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize)) return 0;
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, file + header.e_shoff + uint64_t{i} * sizeof section, sizeof section);
    if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) continue;
    if (!reach(section.sh_offset, section.sh_size)) return 0;
  }
  return end;
}

uint32_t CubinArch(std::span<const uint8_t> bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) return 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (!IsElf64(header) || header.e_machine != kMachineCuda) return 0;
  const uint32_t shift = header.e_ident[EI_ABIVERSION] >= kAbiWithWideArch ? 8 : 0;
  return header.e_flags >> shift & 0xff;
}

}  // namespace tutti::image
