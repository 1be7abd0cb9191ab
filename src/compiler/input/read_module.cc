#include "compiler/input/read_module.h"

#include <utility>
#include <vector>

#include "image/ptx_selection.h"
#include "ptx/linker.h"
#include "ptx/parser.h"

namespace tutti::compiler {

Result<ptx::Module> ReadModule(std::span<const uint8_t> image, uint32_t capability) {
  TUTTI_ASSIGN(const std::vector<image::PtxText> units, image::SelectPtx(image, capability));
  std::vector<ptx::Module> parsed;
  for (const image::PtxText& unit : units) {
    TUTTI_ASSIGN(ptx::Module module, ptx::Parse(unit.text));
    parsed.push_back(std::move(module));
  }
  return ptx::Link(std::move(parsed));
}

}  // namespace tutti::compiler
