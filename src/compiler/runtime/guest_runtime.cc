#include "compiler/runtime/guest_runtime.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include <map>

// embedded.S
extern "C" const char tutti_guest_bitcode_begin[], tutti_guest_bitcode_end[];
extern "C" const char tutti_support_object_begin[], tutti_support_object_end[];

namespace tutti::compiler {
namespace {

llvm::StringRef Bitcode() {
  return {tutti_guest_bitcode_begin, static_cast<size_t>(tutti_guest_bitcode_end - tutti_guest_bitcode_begin)};
}

// The functions that `module` needs from the runtime, by name, with the types it calls them by.
std::map<std::string, llvm::FunctionType*> Wanted(const llvm::Module& module) {
  std::map<std::string, llvm::FunctionType*> wanted;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() && !function.isIntrinsic() && function.getName().starts_with("tutti_")) {
      wanted.emplace(function.getName().str(), function.getFunctionType());
    }
  }
  return wanted;
}

}  // namespace

std::span<const uint8_t> SupportObject() {
  return {reinterpret_cast<const uint8_t*>(tutti_support_object_begin),
          static_cast<size_t>(tutti_support_object_end - tutti_support_object_begin)};
}

Status LinkGuestRuntime(llvm::Module& module) {
  const auto wanted = Wanted(module);
  if (wanted.empty()) return {};
  auto runtime = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(Bitcode(), "guest runtime"), module.getContext());
  if (!runtime) return Fail("guest runtime: " + llvm::toString(runtime.takeError()));
  for (const auto& [name, type] : wanted) {
    const llvm::Function* function = (*runtime)->getFunction(name);
    if (function == nullptr) return Fail("the guest runtime has no function " + name);
    if (function->getFunctionType() != type) return Fail("the guest runtime's function " + name + " has another type");
  }
  (*runtime)->setTargetTriple(module.getTargetTriple());
  (*runtime)->setDataLayout(module.getDataLayout());
  const auto internalize = [](llvm::Module& linked, const llvm::StringSet<>& names) {
    llvm::internalizeModule(
        linked, [&](const llvm::GlobalValue& value) { return !value.hasName() || names.count(value.getName()) == 0; });
  };
  if (llvm::Linker::linkModules(module, std::move(*runtime), llvm::Linker::LinkOnlyNeeded, internalize)) {
    return Fail("the guest runtime does not link with the kernel");
  }
  return {};
}

}  // namespace tutti::compiler
