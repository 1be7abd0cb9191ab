#include "compiler/lower/lower.h"

#include <algorithm>
#include <set>

#include "compiler/lower/finish.h"
#include "compiler/lower/flushes.h"
#include "compiler/lower/module_emitter.h"
#include "compiler/lower/optimize.h"
#include "compiler/sampling/sampling.h"
#include "cuda/result.h"
#include "fmt/format.h"

namespace tutti::compiler {

std::string LowerDiagnostics::Text() const {
  std::string text;
  std::set<std::pair<std::string, std::string>> said;
  for (const LowerDiagnostic& entry : entries_) {
    if (!said.emplace(entry.statement, entry.reason).second) continue;
    if (!text.empty()) text += '\n';
    text += fmt::format("line {}, {}: {}: {}", entry.position.line, entry.function, entry.statement, entry.reason);
  }
  return text;
}

Result<std::unique_ptr<llvm::Module>> LowerKernel(llvm::LLVMContext& context, const ptx::Module& module,
                                                  uint32_t function, const ModuleLayout& layout,
                                                  const LowerOptions& options, LowerDiagnostics& diagnostics) {
  TUTTI_ASSIGN(const KernelLayout kernel, layout.Kernel(function));
  // Its launches count clusters where others count blocks.
  if (module.functions[function].blocks_are_clusters) {
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED,
                fmt::format("line {}: .blocksareclusters is not supported", module.functions[function].position.line));
  }
  lowering::ModuleEmitter emitter(context, module, layout, kernel, options, diagnostics);
  emitter.Emit();
  if (!diagnostics.empty()) {
    const bool invalid = std::any_of(diagnostics.entries().begin(), diagnostics.entries().end(),
                                     [](const LowerDiagnostic& entry) { return entry.invalid; });
    return Fail(invalid ? cuda::CUDA_ERROR_INVALID_PTX : cuda::CUDA_ERROR_NOT_SUPPORTED, diagnostics.Text());
  }
  std::unique_ptr<llvm::Module> result = emitter.Take();
  TUTTI_TRY(LinkSampling(*result));
  std::string broken;
  llvm::raw_string_ostream out(broken);
  if (llvm::verifyModule(*result, &out)) {
    return Fail(cuda::CUDA_ERROR_UNKNOWN,
                fmt::format("kernel {}: lowering made invalid code: {}", module.functions[function].name, broken));
  }
  if (options.optimize) {
    lowering::Optimize(*result);
  } else {
    lowering::SettleFlushes(*result);
  }
  lowering::AttachLocations(*result);
  return result;
}

}  // namespace tutti::compiler
