// ldmatrix, stmatrix and movmatrix: 8 x 8 matrices of 16-bit elements between memory, or registers, and the layout in
// which mma wants them: lane l holds elements 2 (l % 4) and the next of row l / 4.
#include "compiler/lower/families.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

// `value` of lane `lane`.
llvm::Value* FromLane(Emitter& e, llvm::Value* value, llvm::Value* lane) {
  llvm::Type* type = llvm::StructType::get(e.ir.getInt32Ty(), e.ir.getInt1Ty());
  llvm::Value* result =
      e.Call("tutti.shfl.idx.i32", type, {e.ir.getInt32(~0u), value, lane, e.ir.getInt32(31)}, Effect::kWarp);
  return e.ir.CreateExtractValue(result, 0);
}

llvm::Value* Group(Emitter& e) { return e.ir.CreateLShr(e.CallI32("tutti.laneid"), 2); }
llvm::Value* Thread(Emitter& e) { return e.ir.CreateAnd(e.CallI32("tutti.laneid"), 3); }

llvm::Value* SharedAt(Emitter& e, llvm::Value* row, llvm::Value* bytes) {
  return e.PointerFrom(e.ir.CreateAdd(row, bytes), kSharedSpace);
}

// Lane 8 j + i gives the address of row i of matrix j.
void Move(Emitter& e, bool store) {
  auto& ir = e.ir;
  const auto registers = e.Elements(e.operand(store ? 1 : 0));
  const ptx::Space space = e.instruction().space;
  if (ptx::BitsOf(e.type()) != 16) return e.Refuse("only of 16-bit elements");
  if (registers.size() != (e.Has(M::kX4) ? 4u : e.Has(M::kX2) ? 2u : 1u))
    return e.Invalid("the number of registers is not that of the matrices");
  llvm::Value* pointer = e.Pointer(e.operand(store ? 0 : 1), space);
  llvm::Value* address = ir.CreatePtrToInt(pointer, ir.getInt64Ty());
  if (pointer->getType()->getPointerAddressSpace() == kGenericSpace) {  // of shared memory, in whatever way it is given
    address = ir.CreateSub(address, e.CallI64("tutti.shared_base"));
  }
  llvm::Value* own_row = ir.CreateTrunc(address, ir.getInt32Ty());
  for (uint32_t j = 0; j < registers.size(); ++j) {
    llvm::Value* word = store ? e.Read(*registers[j], T::kB32) : nullptr;
    if (!e.Has(M::kTrans)) {
      llvm::Value* row = FromLane(e, own_row, ir.CreateAdd(Group(e), ir.getInt32(8 * j)));
      llvm::Value* at = SharedAt(e, row, ir.CreateShl(Thread(e), 2));
      if (store) {
        ir.CreateAlignedStore(word, at, llvm::Align(4));
      } else {
        e.Write(*registers[j], ir.CreateAlignedLoad(ir.getInt32Ty(), at, llvm::Align(4)), T::kB32);
      }
      continue;
    }
    llvm::Value* halves[2];
    for (uint32_t h = 0; h < 2; ++h) {
      llvm::Value* lane = ir.CreateAdd(ir.CreateShl(Thread(e), 1), ir.getInt32(8 * j + h));
      llvm::Value* at = SharedAt(e, FromLane(e, own_row, lane), ir.CreateShl(Group(e), 1));
      if (store) {
        ir.CreateAlignedStore(ir.CreateTrunc(ir.CreateLShr(word, 16 * h), ir.getInt16Ty()), at, llvm::Align(2));
      } else {
        halves[h] = ir.CreateZExt(ir.CreateAlignedLoad(ir.getInt16Ty(), at, llvm::Align(2)), ir.getInt32Ty());
      }
    }
    if (!store) e.Write(*registers[j], ir.CreateOr(halves[0], ir.CreateShl(halves[1], 16)), T::kB32);
  }
}

}  // namespace

void EmitLdmatrix(Emitter& e) { Move(e, e.instruction().opcode == ptx::Opcode::kStmatrix); }

// movmatrix.sync.aligned.m8n8.trans.b16 d, a: element (row, column) is in lane 4 row + column / 2, half column % 2.
void EmitMovmatrix(Emitter& e) {
  auto& ir = e.ir;
  llvm::Value* a = e.In(1, T::kB32);
  llvm::Value* result = nullptr;
  llvm::Value* column = Group(e);  // of the source
  for (uint32_t h = 0; h < 2; ++h) {
    llvm::Value* row = ir.CreateAdd(ir.CreateShl(Thread(e), 1), ir.getInt32(h));
    llvm::Value* lane = ir.CreateAdd(ir.CreateShl(row, 2), ir.CreateLShr(column, 1));
    llvm::Value* word = FromLane(e, a, lane);
    llvm::Value* half = ir.CreateAnd(ir.CreateLShr(word, ir.CreateShl(ir.CreateAnd(column, 1), 4)), 0xffff);
    result = h == 0 ? half : ir.CreateOr(result, ir.CreateShl(half, 16));
  }
  e.Out(result, T::kB32);
}

}  // namespace tutti::compiler::lowering
