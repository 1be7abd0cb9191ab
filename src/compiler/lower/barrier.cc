// Barriers of a block and fences.
#include "compiler/lower/families.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

void Wait(Emitter& e, llvm::Value* id, llvm::Value* threads, bool wait) {
  e.Call("tutti.barrier", e.ir.getVoidTy(), {id, threads, e.ir.getInt1(wait)}, Effect::kBarrier);
}

// bar.red.op d, id{, threads}, {!}p
void Reduce(Emitter& e) {
  if (e.operands() < 3) return e.Invalid("too few operands");
  llvm::Value* id = e.In(1, T::kU32);
  llvm::Value* threads = e.operands() > 3 ? e.In(2, T::kU32) : e.ir.getInt32(0);
  llvm::Value* predicate = e.In(e.operands() - 1, T::kPred);
  const bool counts = e.Has(M::kPopc);
  const char* operation = counts ? "popc" : e.Has(M::kAnd) ? "and" : "or";
  llvm::Value* result =
      e.Call("tutti.barrier.red.", operation, e.ir.getInt32Ty(), {id, threads, predicate}, Effect::kBarrier);
  if (counts) return e.Out(result, T::kU32);
  e.Out(e.ir.CreateIsNotNull(result), T::kPred);
}

}  // namespace

void EmitBarrier(Emitter& e) {
  if (e.Has(M::kWarp)) {
    e.Call("tutti.warp_barrier", e.ir.getVoidTy(), {e.In(0, T::kB32)}, Effect::kBarrier);
    return;
  }
  // A cluster has a barrier of its own, besides the 16 of each block.
  if (e.Has(M::kCluster)) {
    if (!e.Has(M::kArrive) && !e.Has(M::kWait)) return e.Invalid("barrier.cluster needs .arrive or .wait");
    e.Call("tutti.cluster_barrier", e.ir.getVoidTy(), {e.ir.getInt1(e.Has(M::kWait))}, Effect::kBarrier);
    return;
  }
  if (e.Has(M::kRed)) return Reduce(e);
  if (!e.Has(M::kSync) && !e.Has(M::kArrive)) return e.Refuse("this barrier operation is not supported");
  llvm::Value* id = e.In(0, T::kU32);
  llvm::Value* threads = e.operands() > 1 ? e.In(1, T::kU32) : e.ir.getInt32(0);
  Wait(e, id, threads, !e.Has(M::kArrive));
}

void EmitFence(Emitter& e) {
  const uint32_t scope = e.Has(M::kSys) ? 2 : e.Has(M::kGpu) || e.Has(M::kGl) || e.Has(M::kCluster) ? 1 : 0;
  e.Call("tutti.fence", e.ir.getVoidTy(), {e.ir.getInt32(scope)}, Effect::kMemory);
}

void EmitNanosleep(Emitter& e) { e.Call("tutti.yield", e.ir.getVoidTy(), {}, Effect::kMemory); }

}  // namespace tutti::compiler::lowering
