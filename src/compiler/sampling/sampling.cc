#include "compiler/sampling/sampling.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include <string>
#include <vector>

// embedded.S
extern "C" const char tutti_sampling_bitcode_begin[], tutti_sampling_bitcode_end[];

namespace tutti::compiler {
namespace {

llvm::StringRef Bitcode() {
  return {tutti_sampling_bitcode_begin, static_cast<size_t>(tutti_sampling_bitcode_end - tutti_sampling_bitcode_begin)};
}

// Inlined, a fetch by a uniform handle is far faster, but takes the compiler 0.2 s. Beyond this number of calls of one
// function they stay calls.
constexpr unsigned kMostCopies = 32;

bool IsWanted(const llvm::Function& function) {
  return function.isDeclaration() && function.getName().starts_with("tutti_");
}

}  // namespace

Status LinkSampling(llvm::Module& module) {
  if (llvm::none_of(module, IsWanted)) return {};
  auto functions = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(Bitcode(), "sampling"), module.getContext());
  if (!functions) return Fail("sampling: " + llvm::toString(functions.takeError()));
  std::vector<std::string> names;
  for (const llvm::Function& wanted : module) {
    if (!IsWanted(wanted)) continue;
    names.push_back(wanted.getName().str());
    const llvm::Function* found = (*functions)->getFunction(wanted.getName());
    if (found == nullptr || found->getFunctionType() != wanted.getFunctionType()) {
      return Fail("there is no function " + wanted.getName().str() + " of that type for sampling");
    }
  }
  (*functions)->setTargetTriple(module.getTargetTriple());
  (*functions)->setDataLayout(module.getDataLayout());
  const auto internalize = [](llvm::Module& linked, const llvm::StringSet<>& names) {
    llvm::internalizeModule(
        linked, [&](const llvm::GlobalValue& value) { return !value.hasName() || names.count(value.getName()) == 0; });
  };
  if (llvm::Linker::linkModules(module, std::move(*functions), llvm::Linker::LinkOnlyNeeded, internalize)) {
    return Fail("the functions for sampling do not link with the kernel");
  }
  for (const std::string& name : names) {
    llvm::Function* function = module.getFunction(name);
    if (function->getNumUses() <= kMostCopies) continue;
    function->removeFnAttr(llvm::Attribute::AlwaysInline);
    function->addFnAttr(llvm::Attribute::NoInline);
  }
  return {};
}

}  // namespace tutti::compiler
