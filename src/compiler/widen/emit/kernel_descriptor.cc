#include "compiler/widen/emit/kernel_descriptor.h"

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IRBuilder.h>

#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

using guest::KernelDescriptor;

// A constant laid out as the C++ struct is: fields in order, with the padding written out.
class Layout {
 public:
  Layout(llvm::Module& module) : module_(module) {}

  void Add(size_t offset, llvm::Constant* field) {
    if (offset > size_)
      fields_.push_back(llvm::Constant::getNullValue(
          llvm::ArrayType::get(llvm::Type::getInt8Ty(module_.getContext()), offset - size_)));
    fields_.push_back(field);
    size_ = offset + module_.getDataLayout().getTypeAllocSize(field->getType());
  }
  void Add32(size_t offset, uint64_t value) {
    Add(offset, llvm::ConstantInt::get(llvm::Type::getInt32Ty(module_.getContext()), value));
  }
  llvm::Constant* Finish(size_t size) {
    if (size > size_)
      fields_.push_back(llvm::Constant::getNullValue(
          llvm::ArrayType::get(llvm::Type::getInt8Ty(module_.getContext()), size - size_)));
    return llvm::ConstantStruct::getAnon(module_.getContext(), fields_, /*Packed=*/true);
  }

 private:
  llvm::Module& module_;
  llvm::SmallVector<llvm::Constant*, 24> fields_;
  size_t size_ = 0;
};

llvm::GlobalVariable* Constant(llvm::Module& module, llvm::Constant* value, const llvm::Twine& name,
                               llvm::GlobalValue::LinkageTypes linkage) {
  auto* variable = llvm::cast<llvm::GlobalVariable>(module.getOrInsertGlobal(name.str(), value->getType()));
  variable->setInitializer(value);
  variable->setConstant(true);
  variable->setLinkage(linkage);
  variable->setAlignment(llvm::Align(8));
  return variable;
}

llvm::GlobalVariable* Private(llvm::Module& module, llvm::Constant* value, const char* name) {
  return Constant(module, value, llvm::Twine("tutti.") + name + "." + llvm::Twine(module.global_size()),
                  llvm::GlobalValue::PrivateLinkage);
}

llvm::Constant* Text(llvm::Module& module, llvm::StringRef text) {
  return Private(module, llvm::ConstantDataArray::getString(module.getContext(), text), "text");
}

// void run(WarpState* warps, u32 count)
llvm::Function* EmitRun(llvm::Module& module, llvm::Function& warp) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> builder(context);
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy(), builder.getInt32Ty()}, false);
  auto* run = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "tutti.run", module);
  run->setDoesNotThrow();
  run->addFnAttr("min-legal-vector-width", "512");
  run->addFnAttr(llvm::Attribute::NullPointerIsValid);
  auto* entry = llvm::BasicBlock::Create(context, "", run);
  auto* loop = llvm::BasicBlock::Create(context, "warps", run);
  auto* done = llvm::BasicBlock::Create(context, "", run);
  builder.SetInsertPoint(entry);
  // All warps are of one block.
  llvm::Value* block = warp.arg_size() > 1 ? builder.CreateLoad(builder.getPtrTy(), run->getArg(0)) : nullptr;
  static_assert(offsetof(guest::WarpState, block) == 0);
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  llvm::PHINode* index = builder.CreatePHI(builder.getInt32Ty(), 2);
  index->addIncoming(builder.getInt32(0), entry);
  llvm::Value* offset =
      builder.CreateMul(builder.CreateZExt(index, builder.getInt64Ty()), builder.getInt64(sizeof(guest::WarpState)));
  llvm::SmallVector<llvm::Value*, 2> arguments{builder.CreateInBoundsGEP(builder.getInt8Ty(), run->getArg(0), offset)};
  if (block != nullptr) arguments.push_back(block);
  builder.CreateCall(&warp, arguments);
  llvm::Value* next = builder.CreateAdd(index, builder.getInt32(1));
  index->addIncoming(next, loop);
  builder.CreateCondBr(builder.CreateICmpEQ(next, run->getArg(1)), done, loop);
  builder.SetInsertPoint(done);
  builder.CreateRetVoid();
  return run;
}

llvm::Constant* LocationsOf(ModuleState& state) {
  llvm::Module& module = state.module;
  std::vector<llvm::Constant*> files;
  if (const llvm::NamedMDNode* names = module.getNamedMetadata("tutti.files")) {
    for (const llvm::MDNode* row : names->operands()) {
      const auto* text =
          row->getNumOperands() > 0 ? llvm::dyn_cast_or_null<llvm::MDString>(row->getOperand(0)) : nullptr;
      files.push_back(Text(module, text != nullptr ? text->getString() : ""));
    }
  }
  llvm::Constant* none = llvm::ConstantPointerNull::get(llvm::PointerType::get(module.getContext(), 0));
  if (state.locations.locations().empty()) return none;
  llvm::SmallVector<llvm::Constant*, 64> rows;
  for (const auto& [ptx_line, source_line, source_file] : state.locations.locations()) {
    Layout row(module);
    row.Add32(offsetof(guest::SourceLocation, ptx_line), ptx_line);
    row.Add32(offsetof(guest::SourceLocation, source_line), source_line);
    row.Add(offsetof(guest::SourceLocation, source_file),
            source_line != 0 && source_file < files.size() ? files[source_file] : none);
    rows.push_back(row.Finish(sizeof(guest::SourceLocation)));
  }
  return Private(module, llvm::ConstantArray::get(llvm::ArrayType::get(rows[0]->getType(), rows.size()), rows),
                 "locations");
}

// Spills: in the worst case each wide operation's result lives in the frame. A device keeps stacks of this size for
// each warp that waits, so the estimate is capped; a deeper kernel hits the guard page.
uint32_t StackBytes(const ModuleState& state) {
  constexpr uint64_t kLeast = 32 << 10, kMost = 1 << 20;
  uint64_t bytes = kLeast + state.runtime_stack_bytes + state.wide_operations * 64;
  if (!state.wide.empty()) bytes += 512 << 10;  // recursion
  return static_cast<uint32_t>(llvm::alignTo(std::min(bytes, kMost), 4096));
}

}  // namespace

Status CheckLocalMemory(const ModuleState& state) {
  const uint64_t bytes = state.frame_bytes + state.interleaved_bytes;
  if (bytes <= guest::kMostLocalBytes) return {};
  return Fail(fmt::format("the kernel needs {} bytes of local memory for each thread; {} are the most there are", bytes,
                          guest::kMostLocalBytes));
}

void EmitKernelDescriptor(ModuleState& state, llvm::Function& warp) {
  llvm::Module& module = state.module;
  Layout layout(module);
  layout.Add32(offsetof(KernelDescriptor, magic), guest::kKernelMagic);
  layout.Add32(offsetof(KernelDescriptor, abi_version), guest::kAbiVersion);
  layout.Add(offsetof(KernelDescriptor, name), Text(module, state.options.name));
  layout.Add(offsetof(KernelDescriptor, run), EmitRun(module, warp));
  layout.Add32(offsetof(KernelDescriptor, flags),
               state.flags | (state.may_wait_for_blocks ? 0u : guest::kBlocksInAnyOrder));
  layout.Add32(offsetof(KernelDescriptor, param_bytes), state.param_bytes);
  layout.Add32(offsetof(KernelDescriptor, static_shared_bytes), state.static_shared_bytes);
  layout.Add32(offsetof(KernelDescriptor, local_bytes), state.frame_bytes + state.interleaved_bytes);
  layout.Add32(offsetof(KernelDescriptor, stack_bytes), StackBytes(state));
  for (unsigned axis = 0; axis < 3; ++axis)
    layout.Add32(offsetof(KernelDescriptor, block) + 4 * axis, state.options.block[axis]);
  layout.Add32(offsetof(KernelDescriptor, location_count), state.locations.locations().size());
  layout.Add(offsetof(KernelDescriptor, locations), LocationsOf(state));
  Constant(module, layout.Finish(sizeof(KernelDescriptor)), guest::kKernelSymbol, llvm::GlobalValue::ExternalLinkage);
}

}  // namespace tutti::compiler
