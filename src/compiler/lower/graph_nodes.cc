// Changes of graph nodes by kernels, of any number of bytes and of several nodes at once: in pieces that one call of
// the device takes (guest/device_runtime.def).
#include "compiler/lower/call_operands.h"
#include "compiler/lower/loop.h"
#include "guest/device_runtime.h"

namespace tutti::compiler::lowering {
namespace {

using Service = guest::RuntimeFunction;  // call.cc has another of that name
using T = ptx::Type;

// cudaGraphKernelNodeUpdate: where its members are, and its fields' numbers (driver_types.h).
constexpr uint64_t kUpdateBytes = 40, kFieldAt = 8, kDataAt = 16, kOffsetAt = 24, kSizeAt = 32;
constexpr uint32_t kGridField = 1, kParamField = 2, kEnabledField = 3;

class NodeUpdates {
 public:
  explicit NodeUpdates(Emitter& e) : e_(e), ir_(e.ir), words_(e.RuntimeWords()) {}

  // i64: the first error, or 0.
  llvm::Value* SetParam(llvm::Value* node, llvm::Value* offset, llvm::Value* value, llvm::Value* size) {
    llvm::Value* from = e_.PointerFrom(value, kGenericSpace);
    llvm::BasicBlock *before = ir_.GetInsertBlock(), *piece = e_.NewBlock("piece"), *done = e_.NewBlock("pieces.done");
    ir_.CreateBr(piece);
    ir_.SetInsertPoint(piece);
    llvm::PHINode* at = ir_.CreatePHI(ir_.getInt64Ty(), 2);
    at->addIncoming(ir_.getInt64(0), before);
    llvm::Value* left = ir_.CreateSub(size, at);
    llvm::Value* bytes = e_.Intrinsic(llvm::Intrinsic::umin, {left, ir_.getInt64(guest::kMostUpdateBytes)});
    llvm::Value* const numbers[] = {node, ir_.CreateAdd(offset, at), bytes, left};
    for (uint64_t i = 0; i < 4; ++i) PutWord(i, numbers[i]);
    Loop(e_, bytes, 1, [&](llvm::Value* i) {
      llvm::Value* byte = ir_.CreateLoad(ir_.getInt8Ty(), At(e_, from, ir_.CreateAdd(at, i)));
      ir_.CreateStore(byte, At(e_, words_, ir_.CreateAdd(i, ir_.getInt64(4 * sizeof(uint64_t)))));
    });
    llvm::Value* status = Call(Service::kGraphNodeSetBytes);
    llvm::Value* next = ir_.CreateAdd(at, bytes);
    at->addIncoming(next, ir_.GetInsertBlock());
    llvm::Value* more = ir_.CreateAnd(ir_.CreateICmpEQ(status, ir_.getInt64(0)), ir_.CreateICmpULT(next, size));
    ir_.CreateCondBr(more, piece, done);
    ir_.SetInsertPoint(done);
    return status;
  }

  llvm::Value* Apply(llvm::Value* updates, llvm::Value* count) {
    llvm::Value* first = e_.PointerFrom(updates, kGenericSpace);
    llvm::BasicBlock *before = ir_.GetInsertBlock(), *head = e_.NewBlock("updates"), *one = e_.NewBlock("update"),
                     *done = e_.NewBlock("updated");
    ir_.CreateBr(head);
    ir_.SetInsertPoint(head);
    llvm::PHINode* i = ir_.CreatePHI(ir_.getInt64Ty(), 2);
    llvm::PHINode* status = ir_.CreatePHI(ir_.getInt64Ty(), 2);
    i->addIncoming(ir_.getInt64(0), before);
    status->addIncoming(ir_.getInt64(0), before);
    llvm::Value* goes_on = ir_.CreateAnd(ir_.CreateICmpULT(i, count), ir_.CreateICmpEQ(status, ir_.getInt64(0)));
    ir_.CreateCondBr(goes_on, one, done);
    ir_.SetInsertPoint(one);
    llvm::Value* result = ApplyOne(At(e_, first, ir_.CreateMul(i, ir_.getInt64(kUpdateBytes))));
    i->addIncoming(ir_.CreateAdd(i, ir_.getInt64(1)), ir_.GetInsertBlock());
    status->addIncoming(result, ir_.GetInsertBlock());
    ir_.CreateBr(head);
    ir_.SetInsertPoint(done);
    return status;
  }

 private:
  // What is no field's number names no node.
  llvm::Value* ApplyOne(llvm::Value* update) {
    llvm::Value* node = Load(update, 0, 8);
    llvm::Value* field = Load(update, kFieldAt, 4);
    const auto is = [&](uint32_t number) { return ir_.CreateICmpEQ(field, ir_.getInt64(number)); };
    llvm::BasicBlock *grid = e_.NewBlock("grid"), *other = e_.NewBlock("other"), *param = e_.NewBlock("param"),
                     *enabled = e_.NewBlock("enabled"), *done = e_.NewBlock("applied");
    std::vector<std::pair<llvm::Value*, llvm::BasicBlock*>> results;
    const auto end = [&](llvm::Value* status) {
      results.emplace_back(status, ir_.GetInsertBlock());
      ir_.CreateBr(done);
    };
    ir_.CreateCondBr(is(kGridField), grid, other);
    ir_.SetInsertPoint(other);
    ir_.CreateCondBr(is(kParamField), param, enabled);
    ir_.SetInsertPoint(grid);
    PutWord(0, node);
    PutWord(1, Load(update, kDataAt, 8));
    PutWord(2, Load(update, kDataAt + 8, 4));
    end(Call(Service::kGraphNodeSetGrid));
    ir_.SetInsertPoint(param);
    end(SetParam(node, Load(update, kOffsetAt, 8), Load(update, kDataAt, 8), Load(update, kSizeAt, 8)));
    ir_.SetInsertPoint(enabled);
    PutWord(0, ir_.CreateSelect(is(kEnabledField), node, ir_.getInt64(0)));
    PutWord(1, ir_.CreateZExt(ir_.CreateIsNotNull(Load(update, kDataAt, 4)), ir_.getInt64Ty()));
    end(Call(Service::kGraphNodeSetEnabled));
    ir_.SetInsertPoint(done);
    llvm::PHINode* status = ir_.CreatePHI(ir_.getInt64Ty(), 3);
    for (const auto& [value, block] : results) status->addIncoming(value, block);
    return status;
  }

  llvm::Value* Load(llvm::Value* base, uint64_t offset, uint64_t bytes) {
    llvm::Value* at = At(e_, base, ir_.getInt64(offset));
    llvm::Type* type = ir_.getIntNTy(static_cast<unsigned>(8 * bytes));
    return ir_.CreateZExt(ir_.CreateAlignedLoad(type, at, llvm::Align(bytes)), ir_.getInt64Ty());
  }
  void PutWord(uint64_t word, llvm::Value* value) {
    ir_.CreateAlignedStore(value, At(e_, words_, ir_.getInt64(word * sizeof(uint64_t))), llvm::Align(8));
  }
  llvm::Value* Call(Service function) {
    llvm::Value* address = ir_.CreatePtrToInt(words_, ir_.getInt64Ty());
    return e_.Call("tutti.device_runtime", ir_.getInt64Ty(), {ir_.getInt32(static_cast<uint32_t>(function)), address},
                   Effect::kMemory);
  }

  Emitter& e_;
  decltype(Emitter::ir)& ir_;
  llvm::Value* const words_;
};

}  // namespace

bool EmitNodeUpdate(Emitter& e, std::string_view function) {
  const bool applies = function == "cudaGraphKernelNodeUpdatesApply";
  if (!applies && function != "cudaGraphKernelNodeSetParam") return false;
  const size_t wanted = applies ? 2 : 4;
  if (e.instruction().call_arguments != wanted) {
    e.Invalid("wrong number of arguments");
    return true;
  }
  std::vector<llvm::Value*> arguments;
  for (size_t i = 0; i < wanted; ++i) arguments.push_back(ReadScalarArgument(e, i, T::kB64));
  NodeUpdates updates(e);
  llvm::Value* status = applies ? updates.Apply(arguments[0], arguments[1])
                                : updates.SetParam(arguments[0], arguments[1], arguments[2], arguments[3]);
  WriteScalarReturn(e, e.ir.CreateTrunc(status, e.ir.getInt32Ty()), T::kB32);
  return true;
}

}  // namespace tutti::compiler::lowering
