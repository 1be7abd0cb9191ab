// Two passes. The first reads the module level and only skips bodies, many times faster than lexing them; so all
// symbols are known when bodies are parsed.
#include "ptx/parser.h"

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
  BodyPass(ParseContext& context, std::vector<PendingBody>& bodies, DiagnosticPrinter& printer)
      : context_(context), bodies_(bodies), printer_(printer) {}

  void ParseAll() {
    for (size_t i = 0; i < bodies_.size(); ++i) ParseOne(i);
  }

 private:
  void ParseOne(size_t index) {
    Function& function = context_.module().functions[index];
    if (!bodies_[index].exists || !function.error.empty()) return;
    if (!ParseBody(context_, bodies_[index].start, &function, bodies_[index].local_names)) {
      SetError(function, context_.TakeError());
      return;
    }
    function.body_parsed = true;
    if (const auto wrong = Verify(context_.module(), function)) {
      function.body_parsed = false;
      ClearBody(&function);
      SetError(function, *wrong);
    }
  }

  void SetError(Function& function, const Diagnostic& diagnostic) {
    function.error = ++errors_ > kMaxRenderedErrors ? diagnostic.message : printer_.Print(diagnostic);
  }

  ParseContext& context_;
  std::vector<PendingBody>& bodies_;
  DiagnosticPrinter& printer_;
  size_t errors_ = 0;
};

}  // namespace

Result<Module> Parse(std::string_view text) {
  while (text.ends_with('\0')) text.remove_suffix(1);
  if (text.size() > kMaxTextBytes) return Fail(cuda::CUDA_ERROR_INVALID_PTX, "the PTX text is larger than 1 GiB");
  Module module;
  ParseContext context(text, &module);
  DiagnosticPrinter printer(text);
  std::vector<PendingBody> bodies;
  if (!ParseModuleLevel(context, &bodies))
    return Fail(cuda::CUDA_ERROR_INVALID_PTX, printer.Print(context.TakeError()));
  BodyPass(context, bodies, printer).ParseAll();
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
