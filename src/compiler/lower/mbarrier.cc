#include "compiler/lower/atomic_update.h"
#include "compiler/lower/cluster.h"
#include "compiler/lower/families.h"
#include "compiler/lower/mbarrier_word.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

constexpr uint64_t kCountMask = (1u << 20) - 1;
constexpr unsigned kExpectedShift = 20, kBytesShift = 40, kParityShift = 63;
constexpr uint64_t kBytesMask = (1u << 23) - 1;

llvm::Value* Field(Emitter& e, llvm::Value* word, unsigned shift, uint64_t mask) {
  return e.ir.CreateAnd(e.ir.CreateLShr(word, shift), mask);
}

llvm::Value* Parity(Emitter& e, llvm::Value* word) { return e.ir.CreateLShr(word, kParityShift); }

// Whether the phase is complete; where it is not, yields if asked to.
llvm::Value* TestPhase(Emitter& e, llvm::Value* pointer, llvm::Value* parity, bool yields) {
  llvm::LoadInst* word = e.ir.CreateAlignedLoad(e.ir.getInt64Ty(), pointer, llvm::Align(8));
  word->setAtomic(llvm::AtomicOrdering::Acquire);
  llvm::Value* complete = e.ir.CreateICmpNE(Parity(e, word), parity);
  if (!yields) return complete;
  llvm::BasicBlock* wait = e.NewBlock("wait");
  llvm::BasicBlock* done = e.NewBlock("tested");
  e.ir.CreateCondBr(complete, done, wait);
  e.ir.SetInsertPoint(wait);
  e.Call("tutti.yield", e.ir.getVoidTy(), {}, Effect::kMemory);
  e.ir.CreateBr(done);
  e.ir.SetInsertPoint(done);
  return complete;
}

llvm::Value* Wide(Emitter& e, size_t n) { return e.ir.CreateZExt(e.In(n, T::kU32), e.ir.getInt64Ty()); }

// mbarrier.arrive{.expect_tx}{.noComplete}, .arrive_drop: {state,} [address]{, count or bytes}. .noComplete is a
// promise of the program and changes nothing.
void Arrive(Emitter& e, size_t address) {
  MbarrierChange change;
  llvm::Value* operand = e.operands() > address + 1 ? Wide(e, address + 1) : e.ir.getInt64(1);
  change.arrivals = e.Has(M::kExpectTx) ? e.ir.getInt64(1) : operand;
  if (e.Has(M::kExpectTx)) change.expect = operand;
  if (e.Has(M::kArriveDrop)) change.drops = change.arrivals;
  llvm::Value* pointer = e.Pointer(e.operand(address), e.instruction().space);
  llvm::Value* state = ChangeMbarrier(e, pointer, change);
  if (address == 1) e.Write(e.operand(0), state, T::kB64);
}

}  // namespace

llvm::Value* ChangeMbarrier(Emitter& e, llvm::Value* pointer, const MbarrierChange& change) {
  auto& ir = e.ir;
  const auto or_zero = [&](llvm::Value* v) { return v != nullptr ? v : ir.getInt64(0); };
  return UpdateAtomically(e, pointer, ir.getInt64Ty(), llvm::AtomicOrdering::AcquireRelease, [&](llvm::Value* old) {
    llvm::Value* missing =
        ir.CreateAnd(ir.CreateSub(Field(e, old, 0, kCountMask), or_zero(change.arrivals)), kCountMask);
    llvm::Value* expected =
        ir.CreateAnd(ir.CreateSub(Field(e, old, kExpectedShift, kCountMask), or_zero(change.drops)), kCountMask);
    llvm::Value* bytes = ir.CreateAdd(Field(e, old, kBytesShift, kBytesMask), or_zero(change.expect));
    bytes = ir.CreateAnd(ir.CreateSub(bytes, or_zero(change.complete)), kBytesMask);
    llvm::Value* complete = ir.CreateICmpEQ(ir.CreateOr(missing, bytes), ir.getInt64(0));
    missing = ir.CreateSelect(complete, expected, missing);
    llvm::Value* parity = ir.CreateXor(Parity(e, old), ir.CreateZExt(complete, ir.getInt64Ty()));
    llvm::Value* word = ir.CreateOr(missing, ir.CreateShl(expected, kExpectedShift));
    word = ir.CreateOr(word, ir.CreateShl(bytes, kBytesShift));
    return ir.CreateOr(word, ir.CreateShl(parity, kParityShift));
  });
}

void EmitMbarrier(Emitter& e) {
  const auto pointer = [&](size_t n) { return e.Pointer(e.operand(n), e.instruction().space); };
  if (e.Has(M::kInit)) {
    llvm::Value* count = e.ir.CreateAnd(Wide(e, 1), kCountMask);
    llvm::Value* word = e.ir.CreateOr(count, e.ir.CreateShl(count, kExpectedShift));
    e.ir.CreateAlignedStore(word, pointer(0), llvm::Align(8))->setAtomic(llvm::AtomicOrdering::Release);
  } else if (e.Has(M::kInval)) {
    e.ir.CreateAlignedStore(e.ir.getInt64(0), pointer(0), llvm::Align(8));
  } else if (e.Has(M::kArrive) || e.Has(M::kArriveDrop)) {
    Arrive(e, e.operand(0).kind == ptx::OperandKind::kAddress ? 0 : 1);
  } else if (e.Has(M::kExpectTx)) {
    ChangeMbarrier(e, pointer(0), {.expect = Wide(e, 1)});
  } else if (e.Has(M::kCompleteTx)) {
    ChangeMbarrier(e, pointer(0), {.complete = Wide(e, 1)});
  } else if (e.Has(M::kTestWait) || e.Has(M::kTryWait)) {
    llvm::Value* parity = e.Has(M::kParity) ? e.ir.CreateAnd(Wide(e, 2), 1) : Parity(e, e.In(2, T::kB64));
    e.Write(e.operand(0), TestPhase(e, pointer(1), parity, e.Has(M::kTryWait)), T::kPred);
  } else if (e.Has(M::kPendingCount)) {
    llvm::Value* missing = Field(e, e.In(1, T::kB64), 0, kCountMask);
    e.Write(e.operand(0), e.ir.CreateTrunc(missing, e.ir.getInt32Ty()), T::kU32);
  } else {
    e.Refuse("this mbarrier operation is not supported");
  }
}

// Blocks of a launched grid cannot be cancelled: every request fails, which programs must expect, and their blocks then
// do the work themselves. The answer is 16 bytes that only queries read: whether it was granted, and the first block of
// the cluster.
void EmitClusterLaunchControl(Emitter& e) {
  auto& ir = e.ir;
  if (e.Has(M::kTryCancel)) {
    if (!e.Has(M::kAsync) || !e.Has(M::kMbarrierCompleteTxBytes)) return e.Invalid("no such request");
    llvm::Value* answer = e.Pointer(e.operand(0), e.instruction().space);
    llvm::Value* barrier = e.Pointer(e.operand(1), e.instruction().space);
    const auto decline = [&](llvm::Value* answer_at, llvm::Value* barrier_at) {
      llvm::Type* words = llvm::FixedVectorType::get(ir.getInt32Ty(), 4);
      ir.CreateAlignedStore(llvm::Constant::getNullValue(words), answer_at, llvm::Align(16));
      ChangeMbarrier(e, barrier_at, {.complete = ir.getInt64(16)});
    };
    if (!e.Has(M::kMulticastClusterAll)) return decline(answer, barrier);
    return ForEachBlock(e, ir.getInt16(0xffff), [&](llvm::Value* rank) {
      decline(PointerInBlock(e, answer, rank), PointerInBlock(e, barrier, rank));
    });
  }
  if (!e.Has(M::kQueryCancel)) return e.Refuse("this request is not supported");
  llvm::Value* answer = e.In(1, T::kB128);
  const auto word = [&](unsigned n) { return ir.CreateTrunc(ir.CreateLShr(answer, 32 * n), ir.getInt32Ty()); };
  if (e.Has(M::kIsCanceled)) return e.Write(e.operand(0), ir.CreateTrunc(answer, ir.getInt1Ty()), T::kPred);
  if (e.Has(M::kGetFirstCtaidX)) return e.Write(e.operand(0), word(1), T::kB32);
  if (e.Has(M::kGetFirstCtaidY)) return e.Write(e.operand(0), word(2), T::kB32);
  if (e.Has(M::kGetFirstCtaidZ)) return e.Write(e.operand(0), word(3), T::kB32);
  const auto targets = e.Elements(e.operand(0));
  if (!e.Has(M::kGetFirstCtaid) || targets.size() != 4) return e.Invalid("no such query");
  for (unsigned i = 0; i < 3; ++i) e.Write(*targets[i], word(i + 1), T::kB32);
  e.Write(*targets[3], ir.getInt32(0), T::kB32);
}

void CompleteBytes(Emitter& e, size_t n, uint64_t bytes) {
  if (e.Has(ptx::Modifier::kMbarrierCompleteTxBytes)) {
    ChangeMbarrier(e, e.Pointer(e.operand(n), ptx::StateSpace::kShared), {.complete = e.ir.getInt64(bytes)});
  } else if (e.instruction().space != ptx::StateSpace::kGlobal) {
    e.Invalid("in shared memory an mbarrier counts the bytes");
  }
}

}  // namespace tutti::compiler::lowering
