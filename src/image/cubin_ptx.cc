#include "image/cubin_ptx.h"

#include <algorithm>
#include <string_view>

#include "image/elf.h"

namespace tutti::image {
namespace {

// Where the second unit of `text` begins: at the next line that is the directive with which all PTX begins.
size_t EndOfUnit(std::string_view text) {
  constexpr std::string_view kVersion = ".version";
  bool in_first = false;
  for (size_t line = 0; line < text.size();) {
    const size_t end = std::min(text.find('\0', line), text.size());
    const std::string_view rest = text.substr(line, end - line);
    if (rest.starts_with(kVersion) && rest.find_first_of(" \t") == kVersion.size()) {
      if (in_first) return line;
      in_first = true;
    }
    line = end + 1;
  }
  return text.size();
}

constexpr size_t kMostTexts = 65536;

}  // namespace

Result<std::vector<std::span<const uint8_t>>> CarriedPtx(std::span<const uint8_t> cubin) {
  TUTTI_ASSIGN(const auto sections, SectionsNamed(cubin, ".nv_debug_ptx_txt"));
  std::vector<std::span<const uint8_t>> texts;
  for (std::span<const uint8_t> section : sections) {
    while (!section.empty()) {
      if (texts.size() == kMostTexts) return Fail("a cubin carries more PTX texts than any tool would put there");
      const size_t end = EndOfUnit({reinterpret_cast<const char*>(section.data()), section.size()});
      texts.push_back(section.first(end));
      section = section.subspan(end);
    }
  }
  std::erase_if(texts, [](auto text) { return std::ranges::all_of(text, [](uint8_t c) { return c == '\0'; }); });
  return texts;
}

std::string PtxFrom(std::span<const uint8_t> carried) {
  std::string text(carried.begin(), carried.end());
  std::ranges::replace(text, '\0', '\n');
  return text;
}

}  // namespace tutti::image
