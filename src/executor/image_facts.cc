#include "executor/image_facts.h"

#include <algorithm>

#include "image/cubin_symbols.h"
#include "image/ptx_selection.h"
#include "ptx/parser.h"

namespace tutti::executor {
namespace {

constexpr uint64_t kMostUnpackedBytes = 512u << 20;

bool Prints(const std::string& function) { return function == "vprintf" || function == "__assertfail"; }

void AddFactsOf(const ptx::Module& module, ImageFacts* facts) {
  for (const ptx::Variable& variable : module.variables) {
    if (variable.space == ptx::StateSpace::kGlobal || variable.space == ptx::StateSpace::kConst)
      facts->variables[variable.name] |= variable.managed;
  }
  for (const ptx::Function& function : module.functions) {
    facts->prints |= Prints(function.name);
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
  image::CubinSymbols symbols = image::ReadCubinSymbols(image, kMostUnpackedBytes);
  facts.variables = std::move(symbols.variables);
  facts.prints = std::ranges::any_of(symbols.missing, Prints);
  if (const auto texts = image::SelectPtx(image)) {
    for (const image::PtxText& text : *texts) {
      if (const auto parsed = ptx::Parse(text.text)) AddFactsOf(*parsed, &facts);
    }
  }
  return facts;
}

}  // namespace tutti::executor
