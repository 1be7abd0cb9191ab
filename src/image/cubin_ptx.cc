#include "image/cubin_ptx.h"

#include <algorithm>

#include "image/elf.h"

namespace tutti::image {

Result<std::vector<std::span<const uint8_t>>> CarriedPtx(std::span<const uint8_t> cubin) {
  TUTTI_ASSIGN(auto texts, SectionsNamed(cubin, ".nv_debug_ptx_txt"));
  std::erase_if(texts, [](auto text) { return std::ranges::all_of(text, [](uint8_t c) { return c == '\0'; }); });
  return texts;
}

std::string PtxFrom(std::span<const uint8_t> carried) {
  std::string text(carried.begin(), carried.end());
  std::ranges::replace(text, '\0', '\n');
  return text;
}

}  // namespace tutti::image
