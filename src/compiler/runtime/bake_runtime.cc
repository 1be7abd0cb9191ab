// Build tool: post-processes clang's bitcode of the guest runtime.
//
//   tutti-bake-runtime OUTPUT.bc INPUT.bc...
//
// The C++ ABI passes vectors wider than a register in memory ("byval", "sret"), by rules that depend on the processor's
// features. Kernels pass vectors by value; the registers are chosen when both sides are compiled for one processor in
// one module. So every exported function gets a by-value signature here, around clang's body, and clang's target
// attributes are removed.
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/FunctionAttrs.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <memory>
#include <vector>

namespace {

const llvm::Align kVectorAlignment(128);

bool PassesInMemory(const llvm::Function& function) {
  for (const llvm::Argument& argument : function.args()) {
    if (argument.hasStructRetAttr() || argument.hasByValAttr()) return true;
  }
  return false;
}

void PassByValue(llvm::Function& body) {
  llvm::Type* result = body.getReturnType();
  std::vector<llvm::Type*> parameters;
  for (const llvm::Argument& argument : body.args()) {
    if (argument.hasStructRetAttr()) {
      result = argument.getParamStructRetType();
      // By its elements: a named type would have to be the same in the kernel.
      if (auto* type = llvm::dyn_cast<llvm::StructType>(result))
        result = llvm::StructType::get(body.getContext(), type->elements());
    } else {
      parameters.push_back(argument.hasByValAttr() ? argument.getParamByValType() : argument.getType());
    }
  }
  const std::string name = body.getName().str();
  body.setName(name + ".body");
  auto* function = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                          llvm::GlobalValue::ExternalLinkage, name, body.getParent());
  function->setDoesNotThrow();
  function->addFnAttr(body.hasFnAttribute(llvm::Attribute::AlwaysInline) ? llvm::Attribute::AlwaysInline
                                                                         : llvm::Attribute::NoInline);

  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(body.getContext(), "", function));
  std::vector<llvm::Value*> arguments;
  llvm::AllocaInst* returned = nullptr;
  auto next = function->arg_begin();
  for (const llvm::Argument& argument : body.args()) {
    if (argument.hasStructRetAttr()) {
      returned = builder.CreateAlloca(result);
      returned->setAlignment(kVectorAlignment);
      arguments.push_back(returned);
    } else if (argument.hasByValAttr()) {
      auto* slot = builder.CreateAlloca(argument.getParamByValType());
      slot->setAlignment(std::max(kVectorAlignment, argument.getParamAlign().valueOrOne()));
      builder.CreateStore(&*next++, slot);
      arguments.push_back(slot);
    } else {
      arguments.push_back(&*next++);
    }
  }
  llvm::Value* value = builder.CreateCall(&body, arguments);
  if (returned != nullptr) value = builder.CreateLoad(result, returned);
  if (result->isVoidTy()) {
    builder.CreateRetVoid();
  } else {
    builder.CreateRet(value);
  }
  body.setLinkage(llvm::GlobalValue::InternalLinkage);
  body.removeFnAttr(llvm::Attribute::NoInline);
  body.removeFnAttr(llvm::Attribute::OptimizeNone);
  body.addFnAttr(llvm::Attribute::AlwaysInline);
  // Inlining removes this signature; until then byval would only cause copies.
  for (llvm::Argument& argument : body.args()) {
    if (argument.hasByValAttr()) argument.removeAttr(llvm::Attribute::ByVal);
  }
  for (llvm::User* user : body.users()) {
    auto* call = llvm::cast<llvm::CallBase>(user);
    for (unsigned i = 0; i < call->arg_size(); ++i) call->removeParamAttr(i, llvm::Attribute::ByVal);
  }
}

void ForgetProcessor(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (const char* attribute :
         {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width", "prefer-vector-width",
          "stack-protector-buffer-size", "no-builtins", "frame-pointer"}) {
      function.removeFnAttr(attribute);
    }
  }
}

void Simplify(llvm::Module& module) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::InstCombinePass());
  llvm::ModulePassManager all;
  all.addPass(llvm::AlwaysInlinerPass(false));
  all.addPass(llvm::GlobalDCEPass());
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  all.addPass(llvm::createModuleToPostOrderCGSCCPassAdaptor(llvm::PostOrderFunctionAttrsPass()));  // which are pure
  all.run(module, modules);
}

int Complain(const llvm::Twine& text) {
  llvm::errs() << "tutti-bake-runtime: " << text << '\n';
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return Complain("usage: tutti-bake-runtime OUTPUT.bc INPUT.bc...");
  llvm::LLVMContext context;
  llvm::Module runtime("tutti guest runtime", context);
  llvm::Linker linker(runtime);
  for (int i = 2; i < count; ++i) {
    llvm::SMDiagnostic diagnostic;
    auto module = llvm::parseIRFile(arguments[i], diagnostic, context);
    if (!module) return Complain(llvm::Twine(arguments[i]) + ": " + diagnostic.getMessage());
    runtime.setTargetTriple(module->getTargetTriple());
    runtime.setDataLayout(module->getDataLayout());
    if (linker.linkInModule(std::move(module)))
      return Complain(llvm::Twine(arguments[i]) + " does not link with the others");
  }
  std::vector<llvm::Function*> exported;
  for (llvm::Function& function : runtime) {
    if (function.isDeclaration() || !function.hasExternalLinkage()) continue;
    if (PassesInMemory(function))
      exported.push_back(&function);
    else if (!function.hasFnAttribute(llvm::Attribute::AlwaysInline))
      function.addFnAttr(llvm::Attribute::NoInline);
  }
  for (llvm::Function* function : exported) PassByValue(*function);
  ForgetProcessor(runtime);
  Simplify(runtime);
  if (auto* metadata = runtime.getNamedMetadata("llvm.module.flags")) runtime.eraseNamedMetadata(metadata);
  if (auto* metadata = runtime.getNamedMetadata("llvm.ident")) runtime.eraseNamedMetadata(metadata);
  if (llvm::verifyModule(runtime, &llvm::errs())) return Complain("invalid result");
  for (const llvm::Function& function : runtime) {
    const bool is_support = function.getName().starts_with("tutti_support_");
    if (function.isDeclaration() && !function.isIntrinsic() && !is_support)
      return Complain("the runtime needs " + function.getName());
  }
  std::error_code error;
  llvm::raw_fd_ostream out(arguments[1], error);
  if (error) return Complain(llvm::Twine(arguments[1]) + ": " + error.message());
  llvm::WriteBitcodeToFile(runtime, out);
  return 0;
}
