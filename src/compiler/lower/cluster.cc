// With one block in a cluster `slot_bytes` is 0, so that every rank's address is the block's own.
#include "compiler/lower/cluster.h"

#include "compiler/lower/families.h"
#include "compiler/lower/special_registers.h"

namespace tutti::compiler::lowering {
namespace {

// As in guest/cpu/kernel_abi.h.
constexpr unsigned kSlotShift = 24, kViewShift = 32;
constexpr uint64_t kOffsetMask = (uint64_t{1} << kSlotShift) - 1;
constexpr uint64_t kMostSlots = 255;

llvm::Value* Wide(Emitter& e, llvm::Value* value) { return e.ir.CreateZExt(value, e.ir.getInt64Ty()); }
llvm::Value* Slot(Emitter& e, llvm::Value* in_view) {
  return e.ir.CreateAnd(e.ir.CreateLShr(in_view, kSlotShift), kMostSlots);
}
llvm::Value* Offset(Emitter& e, llvm::Value* in_view) { return e.ir.CreateAnd(in_view, kOffsetMask); }
llvm::Value* FromFirstView(Emitter& e, llvm::Value* generic) {
  return e.ir.CreateSub(generic, e.CallI64("tutti.cluster_views"));
}

// Where the slot of `rank` begins in a view. Ranks that no cluster has are sent to a slot that none has, since others
// would wrap.
llvm::Value* SlotOf(Emitter& e, llvm::Value* rank) {
  auto& ir = e.ir;
  llvm::Value* slot =
      ir.CreateAdd(e.Intrinsic(llvm::Intrinsic::umin, {rank, ir.getInt32(kMostSlots - 1)}), ir.getInt32(1));
  return ir.CreateMul(Wide(e, slot), Wide(e, e.CallI32("tutti.slot_bytes")));
}

// Of an address in a view whose block has `own` (i64) as its rank.
llvm::Value* RankOf(Emitter& e, llvm::Value* in_view, llvm::Value* own) {
  llvm::Value* slot = Slot(e, in_view);
  return e.ir.CreateSelect(e.ir.CreateIsNull(slot), own, e.ir.CreateSub(slot, e.ir.getInt64(1)));
}

}  // namespace

llvm::Value* PointerInBlock(Emitter& e, llvm::Value* pointer, llvm::Value* rank) {
  llvm::Value* address = e.ir.CreatePtrToInt(pointer, e.ir.getInt64Ty());
  return e.PointerFrom(e.ir.CreateAdd(Offset(e, address), SlotOf(e, rank)), kSharedSpace);
}

void ForEachBlock(Emitter& e, llvm::Value* mask, llvm::function_ref<void(llvm::Value*)> body) {
  auto& ir = e.ir;
  llvm::Value* blocks = ReadSpecialRegister(e, ptx::SpecialRegister::kClusterNctarank);
  llvm::BasicBlock *before = ir.GetInsertBlock(), *head = e.NewBlock("blocks"), *look = e.NewBlock("block"),
                   *work = e.NewBlock("block.named"), *next = e.NewBlock("block.next"),
                   *done = e.NewBlock("blocks.done");
  ir.CreateBr(head);
  ir.SetInsertPoint(head);
  llvm::PHINode* rank = ir.CreatePHI(ir.getInt32Ty(), 2);
  rank->addIncoming(ir.getInt32(0), before);
  ir.CreateCondBr(ir.CreateICmpULT(rank, blocks), look, done);
  ir.SetInsertPoint(look);
  // At most 16 blocks: the shift is in range.
  llvm::Value* bit = ir.CreateLShr(ir.CreateZExt(mask, ir.getInt32Ty()), ir.CreateAnd(rank, 31));
  ir.CreateCondBr(ir.CreateTrunc(bit, ir.getInt1Ty()), work, next);
  ir.SetInsertPoint(work);
  body(rank);
  ir.CreateBr(next);
  ir.SetInsertPoint(next);
  rank->addIncoming(ir.CreateAdd(rank, ir.getInt32(1)), next);
  ir.CreateBr(head);
  ir.SetInsertPoint(done);
}

llvm::Value* IsInCluster(Emitter& e, llvm::Value* address) {
  auto& ir = e.ir;
  llvm::Value* distance = FromFirstView(e, address);
  llvm::Value* slots = Wide(e, e.CallI32("tutti.cluster_slots"));
  llvm::Value* inside = ir.CreateICmpULT(distance, ir.CreateShl(slots, kViewShift));
  inside =
      ir.CreateAnd(inside, ir.CreateICmpULE(ir.CreateLShr(ir.CreateAnd(distance, 0xffffffffu), kSlotShift), slots));
  llvm::Value* bytes = Wide(e, e.CallI32("tutti.shared_bytes"));
  return ir.CreateAnd(inside, ir.CreateICmpULT(Offset(e, distance), bytes));
}

llvm::Value* SharedClusterAddress(Emitter& e, llvm::Value* generic) {
  auto& ir = e.ir;
  llvm::Value* distance = FromFirstView(e, generic);
  llvm::Value* rank = ir.CreateTrunc(ir.CreateLShr(distance, kViewShift), ir.getInt32Ty());
  llvm::Value* in_view = ir.CreateAnd(distance, 0xffffffffu);
  return ir.CreateSelect(ir.CreateIsNull(Slot(e, in_view)), ir.CreateAdd(in_view, SlotOf(e, rank)), in_view);
}

// mapa{.shared::cluster} d, a, rank
void EmitMapa(Emitter& e) {
  auto& ir = e.ir;
  llvm::Value* address = ir.CreateZExt(AsBits(ir, e.In(1)), ir.getInt64Ty());
  llvm::Value* slot = SlotOf(e, e.In(2, ptx::Type::kU32));
  llvm::Value* mapped;
  if (e.instruction().space == ptx::StateSpace::kSharedCluster) {
    mapped = ir.CreateAdd(Offset(e, address), slot);
  } else {
    llvm::Value* base = e.CallI64("tutti.shared_base");
    mapped = ir.CreateAdd(base, ir.CreateAdd(Offset(e, ir.CreateSub(address, base)), slot));
  }
  e.Out(ir.CreateTrunc(mapped, ir.getIntNTy(ptx::BitsOf(e.type()))));
}

// getctarank{.shared::cluster} d, a
void EmitGetctarank(Emitter& e) {
  auto& ir = e.ir;
  llvm::Value* address = ir.CreateZExt(AsBits(ir, e.In(1)), ir.getInt64Ty());
  llvm::Value* rank;
  if (e.instruction().space == ptx::StateSpace::kSharedCluster) {
    rank = RankOf(e, address, Wide(e, ReadSpecialRegister(e, ptx::SpecialRegister::kClusterCtarank)));
  } else {
    llvm::Value* distance = FromFirstView(e, address);
    rank = RankOf(e, distance, ir.CreateLShr(distance, kViewShift));
  }
  e.Write(e.operand(0), ir.CreateTrunc(rank, ir.getInt32Ty()), ptx::Type::kU32);
}

}  // namespace tutti::compiler::lowering
