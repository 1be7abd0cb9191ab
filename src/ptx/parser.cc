// Two passes. The first reads the module level and only skips over bodies, which it does many times faster than taking
// their tokens; so all symbols are known when bodies are parsed, and where one kernel of a large library is wanted,
// only what that kernel can reach is parsed at all.
#include "ptx/parser.h"

#include <unordered_set>

#include "cuda/result.h"
#include "ptx/diagnostics.h"
#include "ptx/parse_body.h"
#include "ptx/parse_context.h"
#include "ptx/parse_module.h"
#include "ptx/verifier.h"

namespace tutti::ptx {
namespace {

constexpr size_t kMaxTextBytes = 1u << 30;
constexpr size_t kMaxRenderedErrors = 100;

class BodyPass {
 public:
  BodyPass(ParseContext& context, std::vector<PendingBody>& bodies, DiagnosticPrinter& printer,
           const ParseOptions& options)
      : context_(context),
        bodies_(bodies),
        printer_(printer),
        options_(options),
        seen_(context.module().symbols.size()) {}

  void ParseAll() {
    for (size_t i = 0; i < bodies_.size(); ++i) ParseOne(i);
  }

  void ParseReachable() {
    for (const std::string& name : options_.only) {
      if (const auto symbol = context_.FindSymbol(name)) Reach(*symbol);
    }
    while (!pending_.empty()) {
      const SymbolId id = pending_.back();
      pending_.pop_back();
      const Symbol& symbol = context_.module().symbols[id];
      if (symbol.kind == Symbol::Kind::kVariable) {
        for (const auto& address : context_.module().variables[symbol.index].init.addresses) Reach(address.symbol);
      } else {
        ParseOne(symbol.index);
        ReachFrom(context_.module().functions[symbol.index]);
      }
    }
  }

 private:
  void ParseOne(size_t index) {
    Function& function = context_.module().functions[index];
    if (!bodies_[index].exists || function.body_parsed || !function.error.empty()) return;
    if (!ParseBody(context_, bodies_[index].start, &function, bodies_[index].local_names)) {
      SetError(function, context_.TakeError());
      return;
    }
    function.body_parsed = true;
    if (!options_.verify) return;
    if (const auto wrong = Verify(context_.module(), function)) {
      function.body_parsed = false;
      ClearBody(&function);
      SetError(function, *wrong);
    }
  }

  void SetError(Function& function, const Diagnostic& diagnostic) {
    function.error = ++errors_ > kMaxRenderedErrors ? diagnostic.message : printer_.Print(diagnostic);
  }

  void Reach(SymbolId id) {
    if (seen_[id]) return;
    seen_[id] = true;
    pending_.push_back(id);
  }

  void ReachFrom(const Function& function) {
    const auto reach = [this](const Operand& operand) {
      const bool is_base = operand.kind == OperandKind::kAddress && operand.base == BaseKind::kSymbol;
      if (operand.kind == OperandKind::kSymbol || is_base) Reach(operand.index);
    };
    for (const Instruction& instruction : function.instructions) {
      for (const Operand& operand : instruction.operands) reach(operand);
    }
    for (const Operand& operand : function.vector_operands) reach(operand);
  }

  ParseContext& context_;
  std::vector<PendingBody>& bodies_;
  DiagnosticPrinter& printer_;
  const ParseOptions& options_;
  std::vector<bool> seen_;
  std::vector<SymbolId> pending_;
  size_t errors_ = 0;
};

}  // namespace

Result<Module> Parse(std::string_view text, const ParseOptions& options) {
  while (text.ends_with('\0')) text.remove_suffix(1);
  if (text.size() > kMaxTextBytes) return Fail(cuda::CUDA_ERROR_INVALID_PTX, "the PTX text is larger than 1 GiB");
  Module module;
  ParseContext context(text, &module);
  DiagnosticPrinter printer(text);
  std::vector<PendingBody> bodies;
  if (!ParseModuleLevel(context, &bodies))
    return Fail(cuda::CUDA_ERROR_INVALID_PTX, printer.Print(context.TakeError()));
  BodyPass pass(context, bodies, printer, options);
  if (options.only.empty()) {
    pass.ParseAll();
  } else {
    pass.ParseReachable();
  }
  return module;
}

std::string FunctionErrors(const Module& module) {
  std::string out;
  for (const Function& function : module.functions) {
    if (function.error.empty()) continue;
    out += "in function '" + function.name + "': " + function.error + "\n";
  }
  return out;
}

}  // namespace tutti::ptx
