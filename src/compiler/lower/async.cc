// Asynchronous copies, executed synchronously: a program may not touch the destination before it has waited, and then
// finds it written. So committing and waiting for groups are no-ops.
#include "compiler/lower/atomic_update.h"
#include "compiler/lower/cluster.h"
#include "compiler/lower/families.h"
#include "compiler/lower/loop.h"
#include "compiler/lower/mbarrier_word.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

llvm::Type* BytesType(Emitter& e, uint64_t bytes) {
  if (bytes == 16) return llvm::FixedVectorType::get(e.ir.getInt32Ty(), 4);
  return e.ir.getIntNTy(static_cast<unsigned>(8 * bytes));
}

void Copy(Emitter& e, llvm::Value* to, llvm::Value* from, uint64_t bytes) {
  llvm::Value* value = e.ir.CreateAlignedLoad(BytesType(e, bytes), from, llvm::Align(bytes));
  e.ir.CreateAlignedStore(value, to, llvm::Align(bytes));
}

// cp.async [to], [from], bytes{, source bytes or predicate "ignore source"}: bytes beyond the source's are zero-filled.
// Usually the source is complete or ignored.
void CopyShort(Emitter& e, llvm::Value* to, llvm::Value* from, uint64_t bytes, llvm::Value* source_bytes) {
  auto& ir = e.ir;
  llvm::BasicBlock* whole = e.NewBlock("whole");
  llvm::BasicBlock* part = e.NewBlock("part");
  llvm::BasicBlock* done = e.NewBlock("filled");
  ir.CreateCondBr(ir.CreateICmpUGE(source_bytes, ir.getInt64(bytes)), whole, part);
  ir.SetInsertPoint(whole);
  Copy(e, to, from, bytes);
  ir.CreateBr(done);
  ir.SetInsertPoint(part);
  ir.CreateAlignedStore(llvm::Constant::getNullValue(BytesType(e, bytes)), to, llvm::Align(bytes));
  Loop(e, source_bytes, 1,
       [&](llvm::Value* i) { ir.CreateStore(ir.CreateLoad(ir.getInt8Ty(), At(e, from, i)), At(e, to, i)); });
  ir.CreateBr(done);
  ir.SetInsertPoint(done);
}

void CopyAsync(Emitter& e) {
  const ptx::Operand& size = e.operand(2);
  const uint64_t bytes = size.kind == ptx::OperandKind::kImmediate ? size.bits : 0;
  if (bytes != 4 && bytes != 8 && bytes != 16) return e.Invalid("cp.async copies 4, 8 or 16 bytes");
  llvm::Value* to = e.Pointer(e.operand(0), ptx::StateSpace::kShared);
  llvm::Value* from = e.Pointer(e.operand(1), ptx::StateSpace::kGlobal);
  const size_t optional = e.operands() - 3 - (e.Has(M::kL2CacheHint) ? 1 : 0);
  if (optional == 0 || e.operands() < 4) return Copy(e, to, from, bytes);
  const ptx::Operand& last = e.operand(3);
  const bool is_predicate = last.kind == ptx::OperandKind::kRegister && last.index < e.function().registers.size() &&
                            e.function().registers[last.index].type == T::kPred;
  llvm::Value* source_bytes = is_predicate
                                  ? e.ir.CreateSelect(e.Read(last, T::kPred), e.ir.getInt64(0), e.ir.getInt64(bytes))
                                  : e.ir.CreateZExt(e.Read(last, T::kU32), e.ir.getInt64Ty());
  CopyShort(e, to, from, bytes, source_bytes);
}

// Of each 16 bytes those whose bit is set in `mask` (i16).
void CopyMasked(Emitter& e, llvm::Value* to, llvm::Value* from, llvm::Value* bytes, llvm::Value* mask) {
  auto& ir = e.ir;
  llvm::Value* bits = ir.CreateZExt(mask, ir.getInt64Ty());
  Loop(e, bytes, 1, [&](llvm::Value* i) {
    llvm::BasicBlock *taken = e.NewBlock("taken"), *next = e.NewBlock("left");
    llvm::Value* bit = ir.CreateAnd(ir.CreateLShr(bits, ir.CreateAnd(i, 15)), 1);
    ir.CreateCondBr(ir.CreateIsNotNull(bit), taken, next);
    ir.SetInsertPoint(taken);
    ir.CreateStore(ir.CreateLoad(ir.getInt8Ty(), At(e, from, i)), At(e, to, i));
    ir.CreateBr(next);
    ir.SetInsertPoint(next);
  });
}

// Element by element, each atomically.
void Reduce(Emitter& e, llvm::Value* to, llvm::Value* from, llvm::Value* bytes) {
  e.Has(M::kNoftz);  // as all atomic operations are
  const T type = e.type();
  const uint64_t size = ptx::BitsOf(type) / 8;
  llvm::Type* element = TypeOf(e.context(), type);
  if (element == nullptr || size < 2 || size > 8) return e.Invalid("a reduction needs the type of its elements");
  Loop(e, bytes, size, [&](llvm::Value* i) {
    llvm::Value* value = e.ir.CreateAlignedLoad(element, At(e, from, i), llvm::Align(size));
    UpdateByOperation(e, At(e, to, i), value, type);
  });
}

// cp.async.bulk.shared::cluster.global ... [to], [from], bytes, [mbarrier], blocks: to the same offset in each block's
// shared memory, and the bytes counted by the mbarrier at its offset there.
void Multicast(Emitter& e, llvm::Value* to, llvm::Value* from, llvm::Value* bytes) {
  if (e.operands() < 5 || !e.Has(M::kMbarrierCompleteTxBytes))
    return e.Invalid("a multicast names an mbarrier and blocks");
  llvm::Value* barrier = e.Pointer(e.operand(3), ptx::StateSpace::kShared);
  ForEachBlock(e, e.In(4, T::kU16), [&](llvm::Value* rank) {
    llvm::Value* there = PointerInBlock(e, to, rank);
    Loop(e, bytes, 16, [&](llvm::Value* i) { Copy(e, At(e, there, i), At(e, from, i), 16); });
    ChangeMbarrier(e, PointerInBlock(e, barrier, rank), {.complete = bytes});
  });
}

// cp{.reduce}.async.bulk.to.from{.op}{.type} [to], [from], bytes{, [mbarrier] or mask}: multiples of 16 bytes.
void CopyBulk(Emitter& e) {
  if (e.Has(M::kTensor)) return EmitTensorCopy(e);
  if (e.Has(M::kPrefetch)) return void(e.Has(M::kL2));
  llvm::Value* to = e.Pointer(e.operand(0), e.instruction().space);
  llvm::Value* from = e.Pointer(e.operand(1), e.instruction().second_space);
  llvm::Value* bytes = e.ir.CreateAnd(e.ir.CreateZExt(e.In(2, T::kU32), e.ir.getInt64Ty()), ~uint64_t{15});
  if (e.Has(M::kMulticastCluster)) return Multicast(e, to, from, bytes);
  if (e.Has(M::kReduce)) {
    Reduce(e, to, from, bytes);
  } else if (e.Has(M::kCpMask)) {
    CopyMasked(e, to, from, bytes, e.In(e.operands() - 1, T::kU16));
  } else {
    Loop(e, bytes, 16, [&](llvm::Value* i) { Copy(e, At(e, to, i), At(e, from, i), 16); });
  }
  if (!e.Has(M::kMbarrierCompleteTxBytes)) return;
  ChangeMbarrier(e, e.Pointer(e.operand(3), ptx::StateSpace::kShared), {.complete = bytes});
}

}  // namespace

// st.bulk [a], bytes, 0: shared memory filled with zeros, eight bytes at a time.
void EmitStBulk(Emitter& e) {
  const ptx::Operand& value = e.operand(2);
  if (value.kind != ptx::OperandKind::kImmediate || value.bits != 0) return e.Invalid("st.bulk stores zeros only");
  llvm::Value* to = e.Pointer(e.operand(0), e.instruction().space);
  llvm::Value* bytes = e.ir.CreateAnd(e.In(1, T::kU64), ~uint64_t{7});
  Loop(e, bytes, 8, [&](llvm::Value* i) { e.ir.CreateAlignedStore(e.ir.getInt64(0), At(e, to, i), llvm::Align(8)); });
}

void EmitCp(Emitter& e) {
  if (!e.Has(M::kAsync)) return e.Refuse("this copy is not supported");
  if (e.Has(M::kCommitGroup) || e.Has(M::kWaitGroup) || e.Has(M::kWaitAll)) return;
  if (e.Has(M::kMbarrier)) {  // cp.async.mbarrier.arrive: the copies before it have arrived
    llvm::Value* pointer = e.Pointer(e.operand(0), e.instruction().space);
    if (!e.Has(M::kNoinc)) return;  // it adds one pending arrival and takes it back
    ChangeMbarrier(e, pointer, {.arrivals = e.ir.getInt64(1)});
    return;
  }
  if (e.Has(M::kBulk)) return CopyBulk(e);
  CopyAsync(e);
}

}  // namespace tutti::compiler::lowering
