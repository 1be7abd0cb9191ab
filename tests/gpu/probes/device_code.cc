#include "probes/device_code.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "image/fatbin.h"
#include "os/fd.h"

namespace tutti::gpu {
namespace {

constexpr uint64_t kLongestText = 64 << 20;

// The section of this name; empty: there is none, or the file makes no sense.
std::span<const uint8_t> Section(std::span<const uint8_t> file, const char* name) {
  Elf64_Ehdr head;
  if (file.size() < sizeof head) return {};
  std::memcpy(&head, file.data(), sizeof head);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_shentsize != sizeof(Elf64_Shdr))
    return {};
  const auto row = [&](size_t i) {
    Elf64_Shdr section{};
    const uint64_t at = head.e_shoff + i * sizeof section;
    if (at <= file.size() && file.size() - at >= sizeof section)
      std::memcpy(&section, file.data() + at, sizeof section);
    return section;
  };
  const auto bytes = [&](const Elf64_Shdr& section) {
    if (section.sh_offset > file.size() || file.size() - section.sh_offset < section.sh_size ||
        section.sh_type == SHT_NOBITS)
      return std::span<const uint8_t>();
    return file.subspan(section.sh_offset, section.sh_size);
  };
  const auto names = bytes(row(head.e_shstrndx));
  for (size_t i = 0; i < head.e_shnum; ++i) {
    const Elf64_Shdr section = row(i);
    if (section.sh_name >= names.size()) continue;
    const auto* const text = reinterpret_cast<const char*>(names.data()) + section.sh_name;
    if (std::string_view(text, strnlen(text, names.size() - section.sh_name)) == name) return bytes(section);
  }
  return {};
}

// The names behind ".entry".
void AddKernels(std::string_view ptx, std::set<std::string>* kernels) {
  constexpr std::string_view kWord = ".entry ";
  for (size_t at = 0; (at = ptx.find(kWord, at)) != std::string_view::npos;) {
    at += kWord.size();
    const size_t end = ptx.find_first_of("( \t\r\n", at);
    if (end == std::string_view::npos) return;
    kernels->insert(FullName(std::string(ptx.substr(at, end - at))));
  }
}

}  // namespace

std::string FullName(const std::string& kernel) {
  std::string name = kernel;
  int status = 0;
  if (char* const plain = abi::__cxa_demangle(kernel.c_str(), nullptr, nullptr, &status); plain != nullptr) {
    name = plain;
    std::free(plain);
  }
  return name;
}

std::string BareName(const std::string& kernel) {
  std::string name = kernel;
  // Names may hold "(anonymous namespace)" and template arguments with brackets: what is inside of them goes.
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (size_t at; (at = name.find(kAnonymous)) != std::string::npos;) name.erase(at, kAnonymous.size());
  std::string bare;
  int depth = 0;
  for (const char c : name) {
    if (c == '<') ++depth;
    if (depth == 0 && c == '(') break;
    if (depth == 0) bare += c;
    if (c == '>') --depth;
  }
  const size_t space = bare.rfind(' ', bare.find_last_not_of(' '));
  return space == std::string::npos ? bare : bare.substr(space + 1);
}

std::optional<DeviceCode> ReadDeviceCode(const std::string& library, bool names, uint64_t deadline_ns) {
  const os::Fd fd(open(library.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about{};
  if (!fd || fstat(fd.get(), &about) != 0 || about.st_size == 0) return std::nullopt;
  const auto size = static_cast<size_t>(about.st_size);
  void* const map = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (map == MAP_FAILED) return std::nullopt;
  std::optional<DeviceCode> code;
  if (const auto section = Section({static_cast<const uint8_t*>(map), size}, ".nv_fatbin"); !section.empty()) {
    if (const auto fatbins = image::ReadFatbins(section)) {
      code.emplace();
      code->units = fatbins->units;
      std::set<uint32_t> with_ptx;
      for (const image::FatbinEntry& entry : fatbins->entries) {
        if (entry.kind == image::EntryKind::kElf) ++code->cubins;
        if (entry.kind != image::EntryKind::kPtx) continue;
        ++code->texts;
        with_ptx.insert(entry.unit);
        if (!names || NowNs() > deadline_ns) {
          code->names_complete = false;
          continue;
        }
        if (const auto text = image::PayloadOf(entry, kLongestText))
          AddKernels({reinterpret_cast<const char*>(text->data()), text->size()}, &code->kernels);
      }
      code->units_with_ptx = with_ptx.size();
    }
  }
  munmap(map, size);
  return code;
}

}  // namespace tutti::gpu
