#include "compiler/lower/module_emitter.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/Support/ModRef.h>

#include "compiler/contract/intrinsics.h"
#include "compiler/lower/emitter.h"
#include "compiler/lower/inlining.h"
#include "compiler/lower/types.h"

namespace tutti::compiler::lowering {
namespace {

// The host's, as LLVM 19 has it for x86-64 Linux. Code generation checks that it agrees with its own.
constexpr const char* kDataLayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128";
constexpr const char* kTriple = "x86_64-pc-linux-gnu";

void AddEffects(llvm::Function* function, Effect effect) {
  using llvm::Attribute;
  function->addFnAttr(Attribute::NoUnwind);
  if (effect == Effect::kEnd) {
    function->addFnAttr(Attribute::NoReturn);
    return;
  }
  function->addFnAttr(Attribute::WillReturn);
  switch (effect) {
    case Effect::kPure:
      function->addFnAttr(Attribute::Speculatable);
      function->setMemoryEffects(llvm::MemoryEffects::none());
      break;
    case Effect::kWarp:
      function->addFnAttr(Attribute::Convergent);
      function->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
      break;
    case Effect::kWarpLoad:
      function->addFnAttr(Attribute::Convergent);
      function->setMemoryEffects(llvm::MemoryEffects::readOnly());
      break;
    case Effect::kClock: function->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly()); break;
    case Effect::kBarrier: function->addFnAttr(Attribute::Convergent); break;
    default: break;
  }
}

// CUDA's launch limits, which the device enforces: they let the optimiser prove that indices do not wrap.
void AddRange(llvm::Function* function) {
  struct Row {
    IntrinsicName name;
    uint32_t low, high;
  };
  static constexpr Row kRows[] = {
      {"tutti.tid.x", 0, 1024},          {"tutti.tid.y", 0, 1024},     {"tutti.tid.z", 0, 64},
      {"tutti.ntid.x", 1, 1025},         {"tutti.ntid.y", 1, 1025},    {"tutti.ntid.z", 1, 65},
      {"tutti.ctaid.x", 0, 0x7fffffff},  {"tutti.ctaid.y", 0, 65535},  {"tutti.ctaid.z", 0, 65535},
      {"tutti.nctaid.x", 1, 0x80000000}, {"tutti.nctaid.y", 1, 65536}, {"tutti.nctaid.z", 1, 65536},
      {"tutti.laneid", 0, 32},           {"tutti.warpid", 0, 32},      {"tutti.nwarpid", 1, 33},
  };
  for (const Row& row : kRows) {
    if (function->getName() != llvm::StringRef(row.name.get())) continue;
    function->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, row.low), llvm::APInt(32, row.high)));
    return;
  }
}

llvm::Metadata* Number(llvm::LLVMContext& context, uint32_t value) {
  return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value));
}

}  // namespace

ModuleEmitter::ModuleEmitter(llvm::LLVMContext& context, const ptx::Module& source, const ModuleLayout& layout,
                             const KernelLayout& kernel, const LowerOptions& options, LowerDiagnostics& diagnostics)
    : source_(source),
      layout_(layout),
      kernel_(kernel),
      options_(options),
      diagnostics_(diagnostics),
      module_(std::make_unique<llvm::Module>(source.functions[kernel.functions.front()].name, context)),
      debug_(*module_) {
  module_->setDataLayout(kDataLayout);
  module_->setTargetTriple(kTriple);
  module_->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  debug_file_ = debug_.createFile("module.ptx", "");
  debug_.createCompileUnit(llvm::dwarf::DW_LANG_C, debug_file_, "tutti", true, "", 0);
  debug_type_ = debug_.createSubroutineType(debug_.getOrCreateTypeArray({}));
}

void ModuleEmitter::Emit() {
  for (const uint32_t f : kernel_.functions) {
    if (source_.functions[f].has_body) functions_[f] = DeclareFunction(f, f == kernel_.functions.front());
  }
  for (const uint32_t f : kernel_.functions) {
    if (llvm::Function* ir = FunctionAt(f)) Emitter(*this, f, ir).EmitBody();
  }
  MarkInlining(source_, layout_.calls(), kernel_.functions, [this](uint32_t f) { return FunctionAt(f); });
  WriteMetadata();
  debug_.finalize();
}

llvm::FunctionCallee ModuleEmitter::Declare(llvm::StringRef name, llvm::FunctionType* type, Effect effect) {
  if (llvm::Function* known = module_->getFunction(name)) return {type, known};
  llvm::Function* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, *module_);
  AddEffects(function, effect);
  AddRange(function);
  return {type, function};
}

llvm::Function* ModuleEmitter::FunctionAt(uint32_t index) const {
  const auto found = functions_.find(index);
  return found == functions_.end() ? nullptr : found->second;
}

llvm::FunctionCallee ModuleEmitter::IndirectCall(llvm::FunctionType* callee) {
  size_t n = 0;
  while (n < indirect_types_.size() && indirect_types_[n] != callee) ++n;
  if (n == indirect_types_.size()) indirect_types_.push_back(callee);
  llvm::SmallVector<llvm::Type*, 8> types = {llvm::Type::getInt64Ty(context())};
  types.append(callee->param_begin(), callee->param_end());
  llvm::FunctionType* type = llvm::FunctionType::get(callee->getReturnType(), types, false);
  return Declare(IntrinsicFamily("tutti.call.").Member(std::to_string(n)), type, Effect::kBarrier);
}

std::vector<Piece> ModuleEmitter::PiecesOf(const std::vector<ptx::LocalVariable>& variables,
                                           std::vector<size_t>* first_piece) {
  std::vector<Piece> pieces;
  for (const ptx::LocalVariable& variable : variables) {
    if (first_piece != nullptr) first_piece->push_back(pieces.size());
    llvm::Type* scalar = TypeOf(context(), variable.type);
    const uint64_t bytes = variable.bytes();
    if (variable.vector == 1 && variable.count == 1 && scalar != nullptr) {
      pieces.push_back({0, scalar});
      continue;
    }
    for (uint64_t offset = 0; offset < bytes;) {
      uint64_t size = 8;
      while (size > bytes - offset) size /= 2;
      pieces.push_back({offset, llvm::Type::getIntNTy(context(), static_cast<unsigned>(8 * size))});
      offset += size;
    }
  }
  if (first_piece != nullptr) first_piece->push_back(pieces.size());
  return pieces;
}

llvm::FunctionType* ModuleEmitter::TypeOfFunction(const ptx::Prototype& prototype) {
  const auto types_of = [&](const std::vector<ptx::LocalVariable>& variables) {
    llvm::SmallVector<llvm::Type*, 8> types;
    for (const Piece& piece : PiecesOf(variables, nullptr)) types.push_back(piece.type);
    return types;
  };
  const auto returns = types_of(prototype.returns);
  llvm::Type* result = returns.empty()       ? llvm::Type::getVoidTy(context())
                       : returns.size() == 1 ? returns.front()
                                             : static_cast<llvm::Type*>(llvm::StructType::get(context(), returns));
  return llvm::FunctionType::get(result, types_of(prototype.params), false);
}

llvm::Function* ModuleEmitter::DeclareFunction(uint32_t index, bool is_kernel) {
  const ptx::Function& function = source_.functions[index];
  llvm::FunctionType* type =
      is_kernel ? llvm::FunctionType::get(llvm::Type::getVoidTy(context()), false) : TypeOfFunction(function.prototype);
  llvm::Function* ir =
      llvm::Function::Create(type, is_kernel ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage,
                             is_kernel ? std::string("tutti.kernel") : "fn." + function.name, *module_);
  ir->addFnAttr(llvm::Attribute::NoUnwind);
  // Address 0 may be valid: the fence decides at run time, not the optimiser.
  ir->addFnAttr(llvm::Attribute::NullPointerIsValid);
  ir->addFnAttr(llvm::Attribute::Convergent);
  return ir;
}

void ModuleEmitter::NoteSource(const ptx::Instruction& instruction) {
  if (instruction.source_line == 0) return;
  source_lines_[instruction.position.line] = {instruction.source_line, instruction.source_file};
}

llvm::DISubprogram* ModuleEmitter::Subprogram(const ptx::Function& function, llvm::Function* ir) {
  llvm::DISubprogram* subprogram =
      debug_.createFunction(debug_file_, function.name, ir->getName(), debug_file_, function.position.line, debug_type_,
                            function.position.line, llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
  ir->setSubprogram(subprogram);
  return subprogram;
}

void ModuleEmitter::WriteMetadata() {
  llvm::LLVMContext& c = context();
  llvm::NamedMDNode* files = module_->getOrInsertNamedMetadata("tutti.files");
  for (const std::string& file : source_.files) files->addOperand(llvm::MDNode::get(c, {llvm::MDString::get(c, file)}));
  module_->getOrInsertNamedMetadata("tutti.kernel")
      ->addOperand(llvm::MDNode::get(
          c, {Number(c, kernel_.shared_bytes), Number(c, kernel_.local_bytes), Number(c, kernel_.param_bytes),
              Number(c, static_cast<uint32_t>(std::min<uint64_t>(layout_.const_end(), ~0u)))}));
  llvm::NamedMDNode* lines = module_->getOrInsertNamedMetadata("tutti.lines");
  for (const auto& [ptx_line, source] : source_lines_) {
    lines->addOperand(llvm::MDNode::get(c, {Number(c, ptx_line), Number(c, source.first), Number(c, source.second)}));
  }
  if (indirect_types_.empty()) return;
  llvm::NamedMDNode* taken = module_->getOrInsertNamedMetadata("tutti.functions");
  for (const uint32_t f : kernel_.functions) {
    llvm::Function* ir = FunctionAt(f);
    if (ir == nullptr || source_.functions[f].is_entry || !layout_.calls().address_taken(f)) continue;
    taken->addOperand(llvm::MDNode::get(c, {Number(c, f), llvm::ValueAsMetadata::get(ir)}));
  }
}

}  // namespace tutti::compiler::lowering
