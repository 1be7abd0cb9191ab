#include "cli/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>

#include "os/fd.h"

namespace tutti::cli {
namespace {

template <typename T>
std::optional<T> As(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::string TextAt(std::span<const uint8_t> table, uint64_t offset) {
  if (offset >= table.size()) return "";
  const char* const text = reinterpret_cast<const char*>(table.data() + offset);
  return std::string(text, strnlen(text, table.size() - offset));
}

bool IsTextAt(std::span<const uint8_t> table, uint64_t offset, std::string_view text) {
  if (offset > table.size() || text.size() >= table.size() - offset) return false;
  return std::memcmp(table.data() + offset, text.data(), text.size()) == 0 && table[offset + text.size()] == 0;
}

void Replace(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

}  // namespace

Result<ElfFile> ElfFile::Read(const std::string& path) {
  const os::Fd opened(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info{};
  if (!opened || fstat(opened.get(), &info) != 0) return FailErrno("cannot read " + path);
  const auto no_program = [&] {
    return Fail(path + " is not a 64-bit ELF file (is it a script? name the program that the script starts)");
  };
  if (!S_ISREG(info.st_mode) || info.st_size < static_cast<off_t>(sizeof(Elf64_Ehdr))) return no_program();
  ElfFile file;
  TUTTI_ASSIGN(file.mapping_, os::Mapping::Shared(opened.get(), static_cast<uint64_t>(info.st_size), false));
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  file.directory_ = error ? "." : real.parent_path().string();
  const auto header = As<Elf64_Ehdr>(file.bytes());
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return no_program();
  return file;
}

std::span<const uint8_t> ElfFile::Bytes(uint64_t offset, uint64_t size) const {
  if (offset > bytes().size() || size > bytes().size() - offset) return {};
  return bytes().subspan(offset, size);
}

std::span<const uint8_t> ElfFile::Section(std::string_view name) const {
  const auto header = As<Elf64_Ehdr>(bytes()).value_or(Elf64_Ehdr{});
  const auto at = [&](uint64_t index) {
    return As<Elf64_Shdr>(Bytes(header.e_shoff + index * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr)))
        .value_or(Elf64_Shdr{});
  };
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return {};
  const Elf64_Shdr names = at(header.e_shstrndx);
  const auto texts = Bytes(names.sh_offset, names.sh_size);
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr section = at(i);
    if (section.sh_type != SHT_NOBITS && IsTextAt(texts, section.sh_name, name))
      return Bytes(section.sh_offset, section.sh_size);
  }
  return {};
}

std::vector<std::string> ElfFile::SearchPath(int64_t tag) const {
  const auto entries = Section(".dynamic");
  const auto texts = Section(".dynstr");
  std::vector<std::string> directories;
  for (size_t i = 0; i + sizeof(Elf64_Dyn) <= entries.size(); i += sizeof(Elf64_Dyn)) {
    const auto entry = As<Elf64_Dyn>(entries.subspan(i)).value_or(Elf64_Dyn{});
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag != tag) continue;
    std::string rest = TextAt(texts, entry.d_un.d_val);
    while (!rest.empty()) {
      const size_t colon = std::min(rest.find(':'), rest.size());
      std::string directory = rest.substr(0, colon);
      Replace(directory, "${ORIGIN}", directory_);
      Replace(directory, "$ORIGIN", directory_);
      if (!directory.empty()) directories.push_back(directory);
      rest.erase(0, std::min(colon + 1, rest.size()));
    }
  }
  return directories;
}

}  // namespace tutti::cli
