#include "executor/image_facts.h"

#include <algorithm>

#include "base/checked.h"
#include "cuda/result.h"
#include "executor/protocol/request.h"
#include "guest/gpu/conditions.h"
#include "guest/gpu/fenced_ptx.h"
#include "guest/gpu/managed_variables.h"
#include "image/cubin_symbols.h"
#include "image/image_kind.h"
#include "image/image_list.h"
#include "image/ptx_selection.h"
#include "ptx/condition_setter.h"
#include "ptx/managed_variables.h"
#include "ptx/parser.h"
#include "ptx/printer.h"

namespace tutti::executor {
namespace {

constexpr uint64_t kMostUnpackedBytes = 512u << 20;

bool Prints(const std::string& function) { return function == "vprintf" || function == "__assertfail"; }

bool IsSetConditional(const std::string& function) { return function == ptx::kSetConditional; }

bool Allocates(const std::string& function) {
  return function == "malloc" || function == "free" || function.starts_with("cudaMalloc");
}

bool IsFunction(const ptx::Module& module, uint32_t symbol) {
  return module.symbols[symbol].kind == ptx::Symbol::Kind::kFunction;
}

// Calls by an address, and addresses of functions elsewhere than in a call of that function.
bool TakesFunctions(const ptx::Module& module, const ptx::Function& function) {
  const auto names_one = [&](const ptx::Operand& operand) {
    return operand.kind == ptx::OperandKind::kSymbol && IsFunction(module, operand.index);
  };
  for (const ptx::Instruction& instruction : function.instructions) {
    std::span<const ptx::Operand> operands = instruction.operands;
    if (instruction.opcode == ptx::Opcode::kCall && !operands.empty()) {
      if (operands.front().kind == ptx::OperandKind::kRegister) return true;
      operands = operands.subspan(1);
    }
    if (std::ranges::any_of(operands, names_one)) return true;
  }
  return std::ranges::any_of(function.vector_operands, names_one);
}

// With their alignments.
std::map<std::string, uint64_t> ManagedElsewhere(const ptx::Module& module) {
  const std::string_view prefix = guest::kManagedPrefix;
  std::map<std::string, uint64_t> managed;
  for (const ptx::Variable& variable : module.variables) {
    if (variable.name.starts_with(prefix)) managed[variable.name.substr(prefix.size())] = 1;
  }
  for (const ptx::Variable& variable : module.variables) {
    if (const auto found = managed.find(variable.name); found != managed.end()) found->second = variable.alignment;
  }
  return managed;
}

uint64_t StateOf(const ptx::Module& module, const std::map<std::string, uint64_t>& managed) {
  uint64_t state = 0;
  for (const ptx::Variable& variable : module.variables) {
    if (managed.contains(variable.name)) continue;  // nobody writes it
    if (variable.space != ptx::StateSpace::kConst && variable.space != ptx::StateSpace::kShared)
      state |= kKeepsVariables;
    for (const ptx::Initializer::AddressOf& address : variable.init.addresses)
      if (IsFunction(module, address.symbol)) state |= kTakesFunctions;
  }
  for (const ptx::Function& function : module.functions) {
    if (Allocates(function.name)) state |= kKeepsHeap;
    if (!function.has_body && !Prints(function.name)) state |= kUnknownCode;
    if (function.has_body && !function.body_parsed) state |= kUnknownCode;
    if (TakesFunctions(module, function)) state |= kTakesFunctions;
  }
  return state;
}

uint64_t Sum(uint64_t one, uint64_t other) { return CheckedAdd(one, other).value_or(~uint64_t{0}); }

// `bytes`: of its variables, which are added.
void AddFactsOf(const ptx::Module& module, ImageFacts* facts, uint64_t* bytes) {
  const auto managed = ManagedElsewhere(module);
  facts->managed.insert(managed.begin(), managed.end());
  facts->state |= StateOf(module, managed);
  for (const ptx::Variable& variable : module.variables) {
    if (variable.space != ptx::StateSpace::kGlobal && variable.space != ptx::StateSpace::kConst) continue;
    facts->variables[variable.name] |= variable.managed;
    // Words of a few bytes that Tutti has put there are not the program's.
    const bool is_ours =
        variable.name.starts_with(guest::kFencePrefix) || variable.name.starts_with(guest::kManagedPrefix);
    if (is_ours && variable.bytes() <= sizeof(guest::FenceWords)) continue;
    *bytes = Sum(*bytes, variable.bytes());
  }
  for (const ptx::Function& function : module.functions) {
    facts->prints |= Prints(function.name);
    facts->sets_conditions |= !function.has_body && IsSetConditional(function.name);
    if (!function.is_entry) continue;
    module::KernelInfo& kernel = facts->kernels[function.name];
    std::ranges::copy(function.required_threads, kernel.required_block);
    std::ranges::copy(function.required_cluster, kernel.required_cluster);
    kernel.max_cluster = function.max_cluster;
    kernel.cluster_must_be_set = function.explicit_cluster;
    const size_t end = function.first_param + function.prototype.params.size();
    if (end > function.first_param && end <= function.locals.size() &&
        function.locals[end - 1].name == guest::kLaunchParameter)
      facts->numbered.insert(function.name);
  }
}

// Those of a list each by itself: one may be machine code without a text. What the variables in them take.
uint64_t AddTexts(std::span<const uint8_t> bytes, uint32_t capability, ImageFacts* facts) {
  std::vector<std::span<const uint8_t>> images{bytes};
  if (image::KindOf(bytes) == image::ImageKind::kImageList) {
    if (auto listed = image::ReadImageList(bytes)) images = std::move(*listed);
  }
  uint64_t sum = 0, left = kMostUnpackedBytes;
  bool has_text = false;
  for (const auto& image : images) {
    const auto texts = image::SelectPtx(image, capability);
    if (!texts) {
      facts->state |= kUnknownCode;
      // Of a text that is there, a driver may read more.
      facts->is_unread |= texts.error().code != cuda::CUDA_ERROR_NO_BINARY_FOR_GPU;
      continue;
    }
    for (const image::PtxText& text : *texts) {
      has_text = true;
      const bool fits = text.text.size() <= left;
      left -= fits ? text.text.size() : left;
      const auto parsed = fits ? ptx::Parse(text.text) : Fail("too much text");
      if (parsed) {
        AddFactsOf(*parsed, facts, &sum);
      } else {
        facts->state |= kUnknownCode;
        facts->is_unread = true;
      }
    }
  }
  if (!has_text) facts->state |= kUnknownCode;
  return sum;
}

}  // namespace

ImageFacts FactsOf(std::span<const uint8_t> image, uint32_t capability) {
  ImageFacts facts;
  image::CubinSymbols symbols = image::ReadCubinSymbols(image, kMostUnpackedBytes, capability);
  facts.variables = std::move(symbols.variables);
  facts.prints = std::ranges::any_of(symbols.missing, Prints);
  facts.sets_conditions = std::ranges::any_of(symbols.missing, IsSetConditional);
  facts.is_unread = symbols.is_unread;
  const uint64_t text_bytes = AddTexts(image, capability, &facts);
  // A device runs the one or the other, in each unit of translation.
  facts.variable_bytes =
      symbols.units <= 1 ? std::max(text_bytes, symbols.variable_bytes) : Sum(text_bytes, symbols.variable_bytes);
  return facts;
}

// Of several texts the driver makes one module in its own way, and what is not read cannot be printed.
std::optional<std::string> TextForDevice(std::span<const uint8_t> image, uint32_t capability) {
  const auto texts = image::SelectPtx(image, capability);
  if (!texts || texts->size() != 1) return std::nullopt;
  const std::string& text = texts->front().text;
  if (!text.contains(".managed") && !text.contains(ptx::kSetConditional)) return std::nullopt;
  auto module = ptx::Parse(text);
  if (!module) return std::nullopt;
  const auto is_unread = [](const ptx::Function& function) { return function.has_body && !function.body_parsed; };
  if (std::ranges::any_of(module->functions, is_unread)) return std::nullopt;
  const bool sets_conditions = ptx::DeclaresSetConditional(*module);
  const bool has_managed = ptx::HasManagedVariables(*module);
  ptx::DefineSetConditional(&*module, guest::kSetConditionFunction);
  const bool are_elsewhere = ptx::TakeOutManagedVariables(&*module, guest::kManagedPrefix).empty();
  if (!sets_conditions && !(has_managed && are_elsewhere)) return std::nullopt;
  // Debug sections are not printed, but with this target an assembler would expect them.
  if (const size_t debug = module->target.find(", debug"); debug != std::string::npos) module->target.erase(debug, 7);
  return ptx::Print(*module);
}

}  // namespace tutti::executor
