#include "compiler/runtime/vector_function.h"

#include <dlfcn.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/link/object_emitter.h"
#include "compiler/link/optimizer.h"
#include "compiler/link/shared_object.h"
#include "compiler/runtime/guest_runtime.h"

namespace tutti::compiler {
namespace {

std::string Vector(const std::string& type) { return "<32 x " + type + ">"; }

// void apply(ptr results, ptr arguments): both are arrays of pointers.
std::string CallingCode(const std::string& name, const std::vector<std::string>& results,
                        const std::vector<std::string>& arguments) {
  std::string types, values, loads, stores, result_types;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string separator = i == 0 ? "" : ", ", vector = Vector(arguments[i]), n = std::to_string(i);
    types += separator + vector;
    values += separator + vector + " %v" + n;
    loads += "  %s" + n + " = getelementptr ptr, ptr %arguments, i64 " + n + "\n  %p" + n + " = load ptr, ptr %s" + n +
             "\n  %v" + n + " = load " + vector + ", ptr %p" + n + ", align 4\n";
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string vector = Vector(results[i]), n = std::to_string(i);
    const std::string value = results.size() == 1 ? "%r" : "%r" + n;
    result_types += (i == 0 ? "" : ", ") + vector;
    stores +=
        "  %t" + n + " = getelementptr ptr, ptr %results, i64 " + n + "\n  %q" + n + " = load ptr, ptr %t" + n + "\n";
    if (results.size() > 1) stores += "  " + value + " = extractvalue { RESULTS } %r, " + n + "\n";
    stores += "  store " + vector + " " + value + ", ptr %q" + n + ", align 4\n";
  }
  const std::string result = results.size() == 1 ? result_types : "{ " + result_types + " }";
  for (size_t at; (at = stores.find("RESULTS")) != stores.npos;) stores.replace(at, 7, result_types);
  return "declare " + result + " @" + name + "(" + types + ")\ndefine void @apply(ptr %results, ptr %arguments) {\n" +
         loads + "  %r = call " + result + " @" + name + "(" + values + ")\n" + stores + "  ret void\n}\n";
}

}  // namespace

Result<VectorFunction> VectorFunction::Compile(const std::string& name, const std::vector<std::string>& results,
                                               const std::vector<std::string>& arguments, const HostTarget& target) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(CallingCode(name, results, arguments), diagnostic, context);
  if (!module) return Fail(diagnostic.getMessage().str());
  TUTTI_ASSIGN(const auto machine, CreateTargetMachine(target, 2));
  TUTTI_TRY(LinkGuestRuntime(*module));
  ApplyTarget(*module, target, *machine);
  OptimizeWide(*module, *machine, 2);
  TUTTI_TRY(VerifyModule(*module, "test"));
  TUTTI_ASSIGN(const auto object, EmitObject(*module, *machine));
  TUTTI_ASSIGN(const auto shared, LinkSharedObject(object, SupportObject(), name));
  VectorFunction function;
  function.file_ = std::make_shared<os::Fd>(memfd_create("test", MFD_CLOEXEC));
  const int file = function.file_->get();
  if (write(file, shared.data(), shared.size()) != static_cast<ssize_t>(shared.size())) return FailErrno("write");
  function.library_.reset(dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL),
                          [](void* library) {
                            if (library != nullptr) dlclose(library);
                          });
  if (!function.library_) return Fail(dlerror());
  function.apply_ = reinterpret_cast<Applied>(dlsym(function.library_.get(), "apply"));
  return function;
}

}  // namespace tutti::compiler
