// atom and red.
#include "compiler/lower/atomic_update.h"
#include "compiler/lower/families.h"
#include "compiler/lower/float_values.h"
#include "compiler/lower/mbarrier_word.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;
using Op = llvm::AtomicRMWInst::BinOp;

struct OperationRow {
  M modifier;
  Op on_unsigned, on_signed, on_float;
};
constexpr OperationRow kOperations[] = {
    {M::kAdd, Op::Add, Op::Add, Op::FAdd},
    {M::kMin, Op::UMin, Op::Min, Op::BAD_BINOP},
    {M::kMax, Op::UMax, Op::Max, Op::BAD_BINOP},
    {M::kAnd, Op::And, Op::And, Op::BAD_BINOP},
    {M::kOr, Op::Or, Op::Or, Op::BAD_BINOP},
    {M::kXor, Op::Xor, Op::Xor, Op::BAD_BINOP},
    {M::kExch, Op::Xchg, Op::Xchg, Op::BAD_BINOP},
    {M::kInc, Op::UIncWrap, Op::BAD_BINOP, Op::BAD_BINOP},  // old >= b ? 0 : old + 1
    {M::kDec, Op::UDecWrap, Op::BAD_BINOP, Op::BAD_BINOP},  // old == 0 || old > b ? b : old - 1
};

const OperationRow* OperationOf(const Emitter& e) {
  for (const OperationRow& row : kOperations) {
    if (e.Has(row.modifier)) return &row;
  }
  return nullptr;
}

// add, min or max of f16, bf16 and pairs.
llvm::Value* UpdateHalves(Emitter& e, llvm::Value* pointer, llvm::Value* operand, T type, M operation) {
  auto& ir = e.ir;
  const bool bfloat = IsBfloat(type);
  const auto on_half = [&](llvm::Value* a, llvm::Value* b) {
    a = bfloat ? Bf16ToF32(ir, a) : F16ToF32(ir, a);
    b = bfloat ? Bf16ToF32(ir, b) : F16ToF32(ir, b);
    llvm::Value* result = operation == M::kAdd ? ir.CreateFAdd(a, b) : FloatMinMax(ir, a, b, {operation == M::kMax});
    return bfloat ? F32ToBf16(ir, result, Rounding::kNearest) : F32ToF16(ir, result, Rounding::kNearest);
  };
  return UpdateAtomically(e, pointer, operand->getType(), AtomicOrderOf(e), [&](llvm::Value* old) -> llvm::Value* {
    if (!IsHalfPair(type)) return on_half(old, operand);
    llvm::Type* half = ir.getInt16Ty();
    llvm::Value* low = on_half(ir.CreateTrunc(old, half), ir.CreateTrunc(operand, half));
    llvm::Value* high =
        on_half(ir.CreateTrunc(ir.CreateLShr(old, 16), half), ir.CreateTrunc(ir.CreateLShr(operand, 16), half));
    return ir.CreateOr(ir.CreateZExt(low, ir.getInt32Ty()), ir.CreateShl(ir.CreateZExt(high, ir.getInt32Ty()), 16));
  });
}

llvm::Value* UpdateOne(Emitter& e, const OperationRow& row, llvm::Value* pointer, llvm::Value* operand, T type) {
  const bool halves = IsHalf(type) || IsHalfPair(type);
  if (halves && (row.modifier == M::kAdd || row.modifier == M::kMin || row.modifier == M::kMax)) {
    return UpdateHalves(e, pointer, operand, type, row.modifier);
  }
  const Op op = IsWideFloat(type) ? row.on_float : ptx::IsSigned(type) ? row.on_signed : row.on_unsigned;
  if (op == Op::BAD_BINOP || halves || (ptx::BitsOf(type) > 64 && op != Op::Xchg)) {
    e.Refuse("this atomic operation does not exist for this type");
    return operand;
  }
  const llvm::Align alignment(ptx::BitsOf(type) / 8);
  return e.ir.CreateAtomicRMW(op, pointer, operand, alignment, AtomicOrderOf(e));
}

llvm::Value* CompareAndSwap(Emitter& e, llvm::Value* pointer, size_t first_operand) {
  llvm::Value* compare = AsBits(e.ir, e.In(first_operand));
  llvm::Value* value = AsBits(e.ir, e.In(first_operand + 1));
  const llvm::AtomicOrdering order = AtomicOrderOf(e);
  llvm::Value* pair = e.ir.CreateAtomicCmpXchg(pointer, compare, value, llvm::Align(ptx::BitsOf(e.type()) / 8), order,
                                               llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order));
  return e.ir.CreateExtractValue(pair, 0);
}

}  // namespace

llvm::AtomicOrdering AtomicOrderOf(const Emitter& e) {
  if (e.Has(M::kAcqRel)) return llvm::AtomicOrdering::AcquireRelease;
  if (e.Has(M::kAcquire)) return llvm::AtomicOrdering::Acquire;
  if (e.Has(M::kRelease)) return llvm::AtomicOrdering::Release;
  return llvm::AtomicOrdering::Monotonic;
}

llvm::Value* UpdateAtomically(Emitter& e, llvm::Value* pointer, llvm::Type* type, llvm::AtomicOrdering ordering,
                              const std::function<llvm::Value*(llvm::Value* old)>& update) {
  auto& ir = e.ir;
  const llvm::Align alignment(type->getIntegerBitWidth() / 8);
  llvm::LoadInst* first = ir.CreateAlignedLoad(type, pointer, alignment);
  first->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::BasicBlock* before = ir.GetInsertBlock();
  llvm::BasicBlock* loop = e.NewBlock("update");
  llvm::BasicBlock* done = e.NewBlock("updated");
  ir.CreateBr(loop);
  ir.SetInsertPoint(loop);
  llvm::PHINode* old = ir.CreatePHI(type, 2);
  old->addIncoming(first, before);
  llvm::Value* pair = ir.CreateAtomicCmpXchg(pointer, old, update(old), alignment, ordering,
                                             llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering));
  old->addIncoming(ir.CreateExtractValue(pair, 0), ir.GetInsertBlock());
  ir.CreateCondBr(ir.CreateExtractValue(pair, 1), done, loop);
  ir.SetInsertPoint(done);
  return old;
}

llvm::Value* UpdateByOperation(Emitter& e, llvm::Value* pointer, llvm::Value* operand, ptx::Type type) {
  if (const OperationRow* row = OperationOf(e)) return UpdateOne(e, *row, pointer, operand, type);
  e.Invalid("no atomic operation");
  return operand;
}

// atom{.sem}{.scope}{.space}.op.type d, [a], b{, c}; red is the same without d. Of a vector, each element by itself.
void EmitAtom(Emitter& e) {
  const bool returns = e.instruction().opcode == ptx::Opcode::kAtom;
  const size_t first = returns ? 1 : 0;
  if (TypeOf(e.context(), e.type()) == nullptr) return e.Invalid("memory holds no values of this type");
  llvm::Value* pointer = e.Pointer(e.operand(first), e.instruction().space);
  if (e.Has(M::kCas)) {
    llvm::Value* old = CompareAndSwap(e, pointer, first + 1);
    return returns ? e.Out(old) : void();
  }
  const OperationRow* row = OperationOf(e);
  if (row == nullptr) return e.Invalid("no atomic operation");
  const auto values = e.Elements(e.operand(first + 1));
  const auto destinations = returns ? e.Elements(e.operand(0)) : std::vector<const ptx::Operand*>();
  if (returns && destinations.size() != values.size()) return e.Invalid("operands of different lengths");
  for (size_t i = 0; i < values.size(); ++i) {
    llvm::Value* at =
        i == 0 ? pointer : e.ir.CreateConstGEP1_64(e.ir.getInt8Ty(), pointer, i * ptx::BitsOf(e.type()) / 8);
    llvm::Value* old = UpdateOne(e, *row, at, e.Read(*values[i], e.type()), e.type());
    if (returns) e.Write(*destinations[i], old, e.type());
  }
  if (!returns && e.Has(M::kAsync)) CompleteBytes(e, 2, ptx::BitsOf(e.type()) / 8 * values.size());
}

}  // namespace tutti::compiler::lowering
