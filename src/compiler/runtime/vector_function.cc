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

std::string CallingCode(const std::string& name, const std::string& type, uint32_t arguments) {
  const std::string vector = "<32 x " + type + ">";
  std::string types, loads, values;
  for (uint32_t i = 0; i < arguments; ++i) {
    const std::string separator = i == 0 ? "" : ", ";
    const std::string index = std::to_string(i);
    types += separator + vector;
    values += separator + vector + " %v" + index;
    loads += "  %v" + index + " = load " + vector + ", ptr %p" + index + ", align 4\n";
  }
  return "declare " + vector + " @tutti_v_" + name + "(" + types + ")\n" +
         "define void @apply(ptr %result, ptr %p0, ptr %p1, ptr %p2) {\n" + loads + "  %r = call " + vector + " @tutti_v_" + name +
         "(" + values + ")\n  store " + vector + " %r, ptr %result, align 4\n  ret void\n}\n";
}

}  // namespace

Result<VectorFunction> VectorFunction::Compile(const std::string& name, const std::string& type, uint32_t arguments,
                                               const HostTarget& target) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(CallingCode(name, type, arguments), diagnostic, context);
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
  function.library_.reset(dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL), [](void* library) {
    if (library != nullptr) dlclose(library);
  });
  if (!function.library_) return Fail(dlerror());
  function.apply_ = reinterpret_cast<Applied>(dlsym(function.library_.get(), "apply"));
  return function;
}

}  // namespace tutti::compiler
