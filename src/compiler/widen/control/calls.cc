#include "compiler/widen/control/calls.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include "compiler/widen/analysis/local_frame.h"
#include "compiler/widen/emit/function_emitter.h"
#include "guest/cpu/kernel_abi.h"
#include "module/module_index.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

constexpr unsigned kHiddenArguments = 3;

llvm::Type* WideReturn(llvm::Type* type) {
  if (type->isVoidTy()) return type;
  if (!type->isStructTy() && !type->isVectorTy()) return Values::Wide(type);
  llvm::SmallVector<llvm::Type*, 4> members;
  for (unsigned c = 0; c < Values::ComponentCount(type); ++c)
    members.push_back(Values::Wide(Values::Component(type, c)));
  return llvm::StructType::get(type->getContext(), members);
}

llvm::FunctionType* WideType(llvm::LLVMContext& context, llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters) {
  llvm::SmallVector<llvm::Type*, 8> types{llvm::PointerType::get(context, 0), llvm::Type::getInt32Ty(context),
                                          llvm::Type::getInt64Ty(context)};
  for (llvm::Type* parameter : parameters) {
    for (unsigned c = 0; c < Values::ComponentCount(parameter); ++c)
      types.push_back(Values::Wide(Values::Component(parameter, c)));
  }
  return llvm::FunctionType::get(WideReturn(result), types, false);
}

// Components of a value as functions return it.
llvm::SmallVector<Value*, 4> Unpack(llvm::IRBuilder<>& builder, Value* value, unsigned count, bool is_struct) {
  llvm::SmallVector<Value*, 4> components;
  for (unsigned c = 0; c < count; ++c) components.push_back(is_struct ? builder.CreateExtractValue(value, c) : value);
  return components;
}

class FunctionCall {
 public:
  FunctionCall(FunctionEmitter& emitter, const llvm::CallInst& call)
      : emitter_(emitter), builder_(emitter.builder()), call_(call) {}

  void Direct() {
    const llvm::Function* scalar = call_.getCalledFunction();
    llvm::Function* target = emitter_.module().wide.lookup(scalar);
    if (target == nullptr) return emitter_.Unsupported(call_, "the function has no body");
    RequireRoom(*scalar, emitter_.FirstLane());
    Finish(builder_.CreateCall(target, Arguments(emitter_.mask_bits(), 0)));
  }

  // Loops over the distinct targets that lanes name.
  void Indirect() {
    Value* addresses = emitter_.values().Vector(call_.getArgOperand(0));
    llvm::AllocaInst* rest = emitter_.values().Slot(builder_.getInt32Ty());
    llvm::AllocaInst* result = nullptr;
    llvm::Type* type = WideReturn(call_.getType());
    if (!type->isVoidTy()) {
      result = emitter_.values().Slot(type);
      builder_.CreateStore(llvm::Constant::getNullValue(type), result);
    }
    builder_.CreateStore(emitter_.mask_bits(), rest);
    llvm::Function* function = builder_.GetInsertBlock()->getParent();
    const auto block = [&](const char* name) {
      return llvm::BasicBlock::Create(builder_.getContext(), name, function);
    };
    llvm::BasicBlock *round = block("targets"), *next = block(""), *done = block(""), *unknown = block("no_target");
    builder_.CreateBr(round);
    builder_.SetInsertPoint(round);
    Value* lanes = builder_.CreateLoad(builder_.getInt32Ty(), rest);
    Value* first =
        builder_.CreateIntrinsic(llvm::Intrinsic::cttz, {builder_.getInt32Ty()}, {lanes, builder_.getTrue()});
    Value* address = builder_.CreateExtractElement(addresses, first);
    Value* group = builder_.CreateAnd(
        emitter_.Bits(builder_.CreateICmpEQ(addresses, builder_.CreateVectorSplat(kLanes, address))), lanes);
    llvm::SwitchInst* choice = builder_.CreateSwitch(address, unknown);

    for (const auto& [index, scalar] : Targets()) {
      llvm::BasicBlock* here = block("");
      choice->addCase(builder_.getInt64(module::FunctionAddress(index)), here);
      builder_.SetInsertPoint(here);
      Values::ColdScope scope(emitter_.values());  // vectors made for the arguments are valid on this path only
      RequireRoom(*scalar, first);
      Value* value = builder_.CreateCall(emitter_.module().wide.lookup(scalar), Arguments(group, 1));
      if (result != nullptr) Blend(result, value, emitter_.Lanes(group));
      builder_.CreateBr(next);
    }
    builder_.SetInsertPoint(unknown);
    emitter_.abi().CallService(
        builder_, offsetof(guest::GuestServices, fault), builder_.getVoidTy(),
        {emitter_.abi().warp(), builder_.getInt32(static_cast<uint32_t>(guest::FaultKind::kInvalidPc)), first, address,
         emitter_.Location(call_)});
    builder_.CreateUnreachable();

    builder_.SetInsertPoint(next);
    Value* left = builder_.CreateAnd(lanes, builder_.CreateNot(group));
    builder_.CreateStore(left, rest);
    builder_.CreateCondBr(builder_.CreateICmpEQ(left, builder_.getInt32(0)), done, round);
    builder_.SetInsertPoint(done);
    Finish(result != nullptr ? builder_.CreateLoad(type, result) : nullptr);
  }

 private:
  // Faults if the call would overflow the guest stack. `lane` is the lane that the fault names.
  void RequireRoom(const llvm::Function& scalar, Value* lane) {
    Value* frame_end = builder_.CreateAdd(emitter_.NextFrame(), builder_.getInt64(LocalFrame(scalar).bytes()));
    Value* local = builder_.CreateICmpULE(
        frame_end, builder_.getInt64(emitter_.module().frame_bytes - emitter_.module().stack_bytes));
    Value* stack_pointer = builder_.CreatePtrToInt(builder_.CreateStackSave(), builder_.getInt64Ty());
    Value* limit = emitter_.abi().WarpField(offsetof(guest::WarpState, stack_limit), builder_.getInt64Ty());
    emitter_.Unless(builder_.CreateAnd(local, builder_.CreateICmpUGE(stack_pointer, limit)), [&] {
      emitter_.abi().CallService(
          builder_, offsetof(guest::GuestServices, fault), builder_.getVoidTy(),
          {emitter_.abi().warp(), builder_.getInt32(static_cast<uint32_t>(guest::FaultKind::kHardwareStackError)), lane,
           builder_.getInt64(0), emitter_.Location(call_)});
    });
  }

  llvm::SmallVector<Value*, 8> Arguments(Value* lanes, unsigned first) {
    llvm::SmallVector<Value*, 8> arguments{emitter_.abi().warp(), lanes, emitter_.NextFrame()};
    for (unsigned i = first; i < call_.arg_size(); ++i) {
      const Value* argument = call_.getArgOperand(i);
      for (unsigned c = 0; c < Values::ComponentCount(argument->getType()); ++c)
        arguments.push_back(emitter_.values().Vector(argument, c));
    }
    return arguments;
  }

  // Candidate targets in the module: address taken, and of the call's type.
  std::vector<std::pair<uint32_t, const llvm::Function*>> Targets() {
    std::vector<std::pair<uint32_t, const llvm::Function*>> targets;
    const llvm::NamedMDNode* table = emitter_.module().module.getNamedMetadata("tutti.functions");
    if (table == nullptr) return targets;
    for (const llvm::MDNode* row : table->operands()) {
      if (row->getNumOperands() < 2) continue;
      const auto* index = llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(row->getOperand(0));
      const auto* function = llvm::mdconst::dyn_extract_or_null<llvm::Function>(row->getOperand(1));
      if (index == nullptr || function == nullptr || !MayCall(call_, *function)) continue;
      if (emitter_.module().wide.contains(function))
        targets.emplace_back(static_cast<uint32_t>(index->getZExtValue()), function);
    }
    return targets;
  }

  void Blend(llvm::AllocaInst* result, Value* value, Value* lanes) {
    llvm::Type* type = value->getType();
    Value* old = builder_.CreateLoad(type, result);
    Value* blended = old;
    if (!type->isStructTy()) {
      blended = builder_.CreateSelect(lanes, value, old);
    } else {
      for (unsigned c = 0; c < type->getStructNumElements(); ++c) {
        Value* member =
            builder_.CreateSelect(lanes, builder_.CreateExtractValue(value, c), builder_.CreateExtractValue(old, c));
        blended = builder_.CreateInsertValue(blended, member, c);
      }
    }
    builder_.CreateStore(blended, result);
  }

  void Finish(Value* value) {
    if (call_.getType()->isVoidTy()) return;
    emitter_.Define(call_,
                    Unpack(builder_, value, Values::ComponentCount(call_.getType()), value->getType()->isStructTy()));
  }

  FunctionEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  const llvm::CallInst& call_;
};

}  // namespace

bool MayCall(const llvm::CallInst& indirect, const llvm::Function& target) {
  if (target.getReturnType() != indirect.getType() || target.arg_size() + 1 != indirect.arg_size()) return false;
  for (unsigned i = 0; i < target.arg_size(); ++i) {
    if (target.getArg(i)->getType() != indirect.getArgOperand(i + 1)->getType()) return false;
  }
  return true;
}

llvm::FunctionType* WideFunctionType(const llvm::Function& scalar) {
  return WideType(scalar.getContext(), scalar.getReturnType(), scalar.getFunctionType()->params());
}

void EmitFunctionCall(FunctionEmitter& emitter, const llvm::CallInst& call, Intrinsic kind) {
  FunctionCall function_call(emitter, call);
  if (kind == Intrinsic::kIndirectCall) {
    function_call.Indirect();
  } else {
    function_call.Direct();
  }
}

void DefineArguments(FunctionEmitter& emitter, llvm::Function& wide) {
  unsigned next = kHiddenArguments;
  for (const llvm::Argument& argument : emitter.scalar().args()) {
    llvm::SmallVector<Value*, 4> components;
    for (unsigned c = 0; c < Values::ComponentCount(argument.getType()); ++c) components.push_back(wide.getArg(next++));
    emitter.values().Define(&argument, components);
  }
}

void EmitFunctionReturn(FunctionEmitter& emitter, const llvm::ReturnInst& instruction) {
  llvm::IRBuilder<>& builder = emitter.builder();
  const Value* value = instruction.getReturnValue();
  if (value == nullptr) {
    builder.CreateRetVoid();
    return;
  }
  llvm::Type* type = WideReturn(value->getType());
  if (!type->isStructTy()) {
    builder.CreateRet(emitter.values().Vector(value));
    return;
  }
  Value* all = llvm::PoisonValue::get(type);
  for (unsigned c = 0; c < type->getStructNumElements(); ++c)
    all = builder.CreateInsertValue(all, emitter.values().Vector(value, c), c);
  builder.CreateRet(all);
}

}  // namespace tutti::compiler
