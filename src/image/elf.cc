#include "image/elf.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "cuda/result.h"

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

struct SectionTable {
  uint64_t count = 0;
  uint64_t names = 0;  // the section that holds the names
};

// A file with 65,280 sections or more (a cubin has about five for each kernel) keeps both numbers in its first section.
SectionTable TableOf(const Elf64_Ehdr& header, const Elf64_Shdr& first) {
  return {.count = header.e_shnum != 0 ? header.e_shnum : first.sh_size,
          .names = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link};
}

std::unexpected<Error> Broken(std::string text) {
  return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "broken ELF file: " + std::move(text));
}

// The `size` bytes at `offset`; nothing if they exceed `bytes`.
std::optional<std::span<const uint8_t>> Part(std::span<const uint8_t> bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(offset, size);
}

Elf64_Shdr SectionAt(std::span<const uint8_t> table, uint64_t index) {
  Elf64_Shdr section;
  std::memcpy(&section, table.data() + index * sizeof section, sizeof section);
  return section;
}

bool HasContents(const Elf64_Shdr& section) { return section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL; }

// Whether the text at `offset` of `names` is `name`, alone or followed by a point.
bool IsNamed(std::span<const uint8_t> names, uint64_t offset, std::string_view name) {
  const auto text = Part(names, offset, name.size() + 1);
  if (!text || std::memcmp(text->data(), name.data(), name.size()) != 0) return false;
  return text->back() == '\0' || text->back() == '.';
}

struct Sections {
  std::span<const uint8_t> table;
  uint64_t count = 0;
  std::span<const uint8_t> names;
};

Result<Sections> SectionsOf(std::span<const uint8_t> bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) return Broken(fmt::format("{} bytes are too few for a header", bytes.size()));
  std::memcpy(&header, bytes.data(), sizeof header);
  if (!IsElf64(header)) return Broken("it is not one of 64 bits");
  if (header.e_shoff == 0) return {};
  const auto first = Part(bytes, header.e_shoff, sizeof(Elf64_Shdr));
  if (!first || header.e_shentsize != sizeof(Elf64_Shdr)) return Broken("no section headers where it says they are");
  const SectionTable numbers = TableOf(header, SectionAt(*first, 0));
  const auto table = numbers.count > bytes.size() / sizeof(Elf64_Shdr)
                         ? std::nullopt
                         : Part(bytes, header.e_shoff, numbers.count * sizeof(Elf64_Shdr));
  if (!table) return Broken(fmt::format("its {} section headers exceed it", numbers.count));
  if (numbers.names >= numbers.count) return Broken("no section has the names of the others");
  const Elf64_Shdr names_at = SectionAt(*table, numbers.names);
  const auto names = Part(bytes, names_at.sh_offset, names_at.sh_size);
  if (!names) return Broken("the names of its sections exceed it");
  return Sections{.table = *table, .count = numbers.count, .names = *names};
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
  if (header.e_shoff == 0) return end;
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > kLargestFile) return 0;
  Elf64_Shdr first;
  std::memcpy(&first, file + header.e_shoff, sizeof first);
  const uint64_t count = TableOf(header, first).count;
  if (count > kLargestFile / sizeof first || !reach(header.e_shoff, count * sizeof first)) return 0;
  for (uint64_t i = 0; i < count; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, file + header.e_shoff + i * sizeof section, sizeof section);
    if (HasContents(section) && !reach(section.sh_offset, section.sh_size)) return 0;
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

Result<uint64_t> BytesWhenLoaded(std::span<const uint8_t> bytes, std::span<const std::string_view> names) {
  TUTTI_ASSIGN(const Sections sections, SectionsOf(bytes));
  uint64_t sum = 0;
  for (uint64_t i = 0; i < sections.count; ++i) {
    const Elf64_Shdr section = SectionAt(sections.table, i);
    const auto is_named = [&](std::string_view name) { return IsNamed(sections.names, section.sh_name, name); };
    if ((section.sh_flags & SHF_ALLOC) == 0 || std::ranges::none_of(names, is_named)) continue;
    sum = CheckedAdd(sum, uint64_t{section.sh_size}).value_or(~uint64_t{0});
  }
  return sum;
}

Result<std::vector<std::span<const uint8_t>>> SectionsNamed(std::span<const uint8_t> bytes, std::string_view name) {
  TUTTI_ASSIGN(const Sections sections, SectionsOf(bytes));
  std::vector<std::span<const uint8_t>> found;
  uint64_t left = bytes.size();  // sections that share bytes would be read again and again
  for (uint64_t i = 0; i < sections.count; ++i) {
    const Elf64_Shdr section = SectionAt(sections.table, i);
    if (!HasContents(section) || !IsNamed(sections.names, section.sh_name, name)) continue;
    const auto contents = Part(bytes, section.sh_offset, section.sh_size);
    if (!contents) return Broken(fmt::format("its section {} exceeds it", name));
    if ((section.sh_flags & SHF_COMPRESSED) != 0) return Broken(fmt::format("its section {} is compressed", name));
    if (contents->size() > left) return Broken(fmt::format("its sections {} overlap", name));
    left -= contents->size();
    found.push_back(*contents);
  }
  return found;
}

}  // namespace tutti::image
