#include "executor/image_facts.h"

#include <algorithm>

#include "image/cubin_variables.h"
#include "image/ptx_selection.h"
#include "ptx/parser.h"

namespace tutti::executor {
namespace {

constexpr uint64_t kMostUnpackedBytes = 512u << 20;

void AddFactsOf(const ptx::Module& module, ImageFacts* facts) {
  for (const ptx::Variable& variable : module.variables) {
    if (variable.space == ptx::StateSpace::kGlobal || variable.space == ptx::StateSpace::kConst)
      facts->variables[variable.name] |= variable.managed;
  }
  for (const ptx::Function& function : module.functions) {
    if (!function.is_entry) continue;
    module::KernelInfo& kernel = facts->kernels[function.name];
    std::ranges::copy(function.required_threads, kernel.required_block);
    std::ranges::copy(function.required_cluster, kernel.required_cluster);
    kernel.max_cluster = function.max_cluster;
    kernel.cluster_must_be_set = function.explicit_cluster;
  }
}

}  // namespace

ImageFacts FactsOf(std::span<const uint8_t> image) {
  ImageFacts facts;
  for (const image::CubinVariable& variable : image::CubinVariables(image, kMostUnpackedBytes))
    facts.variables[variable.name] |= variable.is_managed;
  if (const auto texts = image::SelectPtx(image)) {
    for (const image::PtxText& text : *texts) {
      if (const auto parsed = ptx::Parse(text.text)) AddFactsOf(*parsed, &facts);
    }
  }
  return facts;
}

}  // namespace tutti::executor
