// For tests: builds ELF files as ptxas does, as far as anybody here reads them.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::image {

inline constexpr std::string_view kCarriedPtxSection = ".nv_debug_ptx_txt";

// PTX as ptxas keeps it: eight empty lines for the comment above it, then a NUL behind each line.
inline std::string AsCarried(std::string_view ptx) {
  std::string text(8, '\0');
  text += ptx;
  for (char& c : text) {
    if (c == '\n') c = '\0';
  }
  return text + '\0';
}

class CubinBuilder {
 public:
  explicit CubinBuilder(uint32_t arch) : arch_(arch) {}

  CubinBuilder& Add(std::string_view name, std::string_view contents, uint64_t flags = 0) {
    sections_.push_back({std::string(name), std::string(contents), flags});
    return *this;
  }

  // Section 0 is empty, section 1 has the names, the others follow in their order. The headers end the file.
  std::vector<uint8_t> Build() const {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_ABIVERSION] = 8;
    header.e_machine = 190;
    header.e_flags = 0x6000004 | arch_ << 8;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<uint16_t>(2 + sections_.size());
    header.e_shstrndx = 1;
    std::vector<Elf64_Shdr> headers(2);
    std::string names(1, '\0');
    std::string contents;
    const auto place = [&](Elf64_Shdr& section, const std::string& bytes) {
      section.sh_offset = sizeof header + contents.size();
      section.sh_size = bytes.size();
      contents += bytes;
    };
    for (const Section& section : sections_) {
      headers.push_back({.sh_name = static_cast<Elf64_Word>(names.size()), .sh_type = SHT_PROGBITS});
      headers.back().sh_flags = section.flags;
      place(headers.back(), section.contents);
      names += section.name + '\0';
    }
    headers[1].sh_type = SHT_STRTAB;
    place(headers[1], names);
    header.e_shoff = sizeof header + contents.size();
    std::vector<uint8_t> file(header.e_shoff + headers.size() * sizeof(Elf64_Shdr));
    std::memcpy(file.data(), &header, sizeof header);
    std::memcpy(file.data() + sizeof header, contents.data(), contents.size());
    std::memcpy(file.data() + header.e_shoff, headers.data(), headers.size() * sizeof(Elf64_Shdr));
    return file;
  }

  // Changes the header of section `index` of a file that Build made.
  template <typename Change>
  static void ChangeSection(std::vector<uint8_t>* file, size_t index, Change change) {
    Elf64_Ehdr header;
    std::memcpy(&header, file->data(), sizeof header);
    uint8_t* const at = file->data() + header.e_shoff + index * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    std::memcpy(&section, at, sizeof section);
    change(section);
    std::memcpy(at, &section, sizeof section);
  }

  template <typename Change>
  static void ChangeHeader(std::vector<uint8_t>* file, Change change) {
    Elf64_Ehdr header;
    std::memcpy(&header, file->data(), sizeof header);
    change(header);
    std::memcpy(file->data(), &header, sizeof header);
  }

 private:
  struct Section {
    std::string name;
    std::string contents;
    uint64_t flags;
  };
  const uint32_t arch_;
  std::vector<Section> sections_;
};

}  // namespace tutti::image
