#include "compiler/lower/module_layout.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "compiler/lower/kernel_layout.h"
#include "cuda/result.h"
#include "fmt/format.h"
#include "guest/texture.h"
#include "module/module_index.h"

namespace tutti::compiler {
namespace {

// A module of more is no program's: the largest GPU has 288 GB. It also keeps all offset arithmetic far from overflow.
constexpr uint64_t kMaxSegmentBytes = 1ull << 38;
// The initial image travels through memory files and the cache.
constexpr uint64_t kMaxImageBytes = 1ull << 30;
constexpr uint32_t kMaxAlignment = 1u << 16;

bool IsPlaced(const ptx::Variable& variable) {
  if (variable.space != ptx::StateSpace::kGlobal && variable.space != ptx::StateSpace::kConst) return false;
  return variable.linkage != ptx::Linkage::kExtern;
}

bool HasInitializer(const ptx::Variable& variable) {
  return !variable.init.bytes.empty() || !variable.init.addresses.empty();
}

module::Reference ReferenceOf(const ptx::Variable& variable) {
  switch (variable.type) {
    case ptx::Type::kTexref: return module::Reference::kTexture;
    case ptx::Type::kSurfref: return module::Reference::kSurface;
    case ptx::Type::kSamplerref: return module::Reference::kSampler;
    default: return module::Reference::kNone;
  }
}

// To PTX a reference has no size; here it is the description itself, and so what tex finds at its address.
uint64_t BytesOf(const ptx::Variable& variable) {
  return ReferenceOf(variable) == module::Reference::kNone ? variable.bytes() : sizeof(guest::Texture);
}

// Constants before globals; of each, those with values first.
int Rank(const ptx::Variable& variable) {
  const bool is_const = variable.space == ptx::StateSpace::kConst;
  return (is_const ? 0 : 2) + (HasInitializer(variable) ? 0 : 1);
}

std::unexpected<Error> InvalidPtx(std::string text) { return Fail(cuda::CUDA_ERROR_INVALID_PTX, std::move(text)); }

// A kernel is asked for by its name.
Status CheckNames(const ptx::Module& module) {
  constexpr size_t kSaid = 60;
  for (const ptx::Function& function : module.functions) {
    if (!function.is_entry || function.name.size() <= module::kMostNameBytes) continue;
    return InvalidPtx(fmt::format("kernel {}...: its name has {} characters, {} are the most",
                                  function.name.substr(0, kSaid), function.name.size(), module::kMostNameBytes));
  }
  return {};
}

}  // namespace

Result<ModuleLayout> ModuleLayout::Make(const ptx::Module& module) {
  if (module.address_bits != 64) return InvalidPtx("PTX with 32-bit addresses: rebuild with .address_size 64");
  TUTTI_TRY(CheckNames(module));
  ModuleLayout layout(module);
  TUTTI_TRY(layout.PlaceVariables());
  TUTTI_TRY(layout.FillImage());
  layout.DescribeKernels();
  return layout;
}

Status ModuleLayout::PlaceVariables() {
  offsets_.resize(module_->variables.size());
  std::vector<uint32_t> order;
  for (uint32_t v = 0; v < module_->variables.size(); ++v) {
    if (IsPlaced(module_->variables[v])) order.push_back(v);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return Rank(module_->variables[a]) < Rank(module_->variables[b]); });
  uint64_t end = 0;
  for (const uint32_t v : order) {
    const ptx::Variable& variable = module_->variables[v];
    const uint64_t alignment = std::max<uint64_t>(variable.alignment, 1);
    if (alignment > kMaxAlignment || (alignment & (alignment - 1)) != 0) {
      return InvalidPtx(fmt::format("variable {}: alignment {} is not a power of two up to {}", variable.name,
                                    alignment, kMaxAlignment));
    }
    const uint64_t bytes = std::max<uint64_t>(BytesOf(variable), 1);
    if (ReferenceOf(variable) != module::Reference::kNone && variable.count != 1)
      return InvalidPtx(fmt::format("variable {}: arrays of references are not supported", variable.name));
    if (bytes > kMaxSegmentBytes)
      return InvalidPtx(fmt::format("variable {}: {} bytes are too many", variable.name, bytes));
    const bool is_const = variable.space == ptx::StateSpace::kConst;
    if (!is_const && end == const_end_) end = AlignUp(end, module::kSegmentPageBytes);
    const uint64_t offset = AlignUp(end, std::max<uint64_t>(alignment, 16));
    end = offset + bytes;
    if (end > kMaxSegmentBytes) return InvalidPtx("the module's variables need more than 256 GiB");
    offsets_[v] = offset;
    if (is_const) const_end_ = end;
    index_.segment_alignment = std::max(index_.segment_alignment, alignment);
    index_.variables.push_back(
        {variable.name, offset, BytesOf(variable), is_const, variable.managed, ReferenceOf(variable)});
  }
  if (const_end_ != 0) index_.segment_alignment = std::max(index_.segment_alignment, module::kSegmentPageBytes);
  index_.segment_bytes = std::max(end, AlignUp(const_end_, module::kSegmentPageBytes));
  return {};
}

Status ModuleLayout::FillImage() {
  for (uint32_t v = 0; v < module_->variables.size(); ++v) {
    const ptx::Variable& variable = module_->variables[v];
    if (!offsets_[v]) continue;
    const uint64_t offset = *offsets_[v];
    if (variable.init.bytes.size() > variable.bytes()) {
      return InvalidPtx(fmt::format("variable {}: its initialiser is longer than itself", variable.name));
    }
    const auto grow = [&](uint64_t end) {
      if (end > kMaxImageBytes) return false;
      if (end > index_.image.size()) index_.image.resize(end);
      return true;
    };
    if (!grow(offset + variable.init.bytes.size()))
      return InvalidPtx("the module's initialised variables need more than 1 GiB");
    if (!variable.init.bytes.empty()) {
      std::memcpy(index_.image.data() + offset, variable.init.bytes.data(), variable.init.bytes.size());
    }
    for (const ptx::Initializer::AddressOf& address : variable.init.addresses) {
      if (!InRange<uint64_t>(address.offset, 8, variable.bytes()) || address.symbol >= module_->symbols.size()) {
        return InvalidPtx(fmt::format("variable {}: an address in its initialiser lies outside it", variable.name));
      }
      if (!grow(offset + address.offset + 8))
        return InvalidPtx("the module's initialised variables need more than 1 GiB");
      const ptx::Symbol& symbol = module_->symbols[address.symbol];
      module::Relocation relocation{.offset = offset + address.offset};
      if (symbol.kind == ptx::Symbol::Kind::kFunction) {
        relocation.kind = module::Relocation::Kind::kFunction;
        relocation.addend = symbol.index;
      } else if (offsets_[symbol.index]) {
        relocation.addend = *offsets_[symbol.index] + static_cast<uint64_t>(address.addend);
      } else {
        return InvalidPtx(fmt::format("variable {}: its initialiser takes the address of {}, which has none",
                                      variable.name, symbol.name));
      }
      index_.relocations.push_back(relocation);
    }
  }
  return {};
}

void ModuleLayout::DescribeKernels() {
  const bool launches_graphs =
      std::ranges::any_of(module_->functions, [](const ptx::Function& f) { return f.name == "cudaGraphLaunch"; });
  for (uint32_t f = 0; f < module_->functions.size(); ++f) {
    const ptx::Function& function = module_->functions[f];
    index_.functions.push_back(function.name);
    if (!function.is_entry) continue;
    module::CompiledKernel info{lowering::DescribeKernel(*module_, f)};
    info.may_launch_graphs = launches_graphs;
    info.const_bytes = static_cast<uint32_t>(std::min<uint64_t>(const_end_, ~0u));
    if (!info.error.empty()) {
      index_.log += fmt::format("{}: {}\n", function.name, info.error);
    } else if (auto layout = Kernel(f); layout) {
      info.static_shared_bytes = layout->shared_bytes;
      info.local_bytes = layout->local_bytes;
      info.uses_dynamic_shared = layout->uses_dynamic_shared;
    } else {
      info.error = layout.error().text;
      index_.log += fmt::format("{}: {}\n", function.name, info.error);
    }
    index_.kernels.push_back(std::move(info));
  }
}

Result<KernelLayout> ModuleLayout::Kernel(uint32_t function) const {
  return lowering::LayOutKernel(*module_, calls_, function);
}

}  // namespace tutti::compiler
