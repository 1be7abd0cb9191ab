// ldmatrix, stmatrix and movmatrix: move 8 x 8 matrices of 16-bit elements between memory, or registers, and mma's
// layout, in which lane l holds elements 2 (l % 4) and the next of row l / 4. Matrices of 8 x 16 elements of 4 or 6
// bits are expanded to a byte per element on the way; there the lane holds elements 4 (l % 4) and the next three.
#include "compiler/lower/families.h"
#include "compiler/lower/matrix_layout.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

llvm::Value* SharedAt(Emitter& e, llvm::Value* row, llvm::Value* bytes) {
  return e.PointerFrom(e.ir.CreateAdd(row, bytes), kSharedSpace);
}

// Elements 4 t to 4 t + 3 of a row of sixteen that lie without gaps: 4 bits come to lie in the middle of their bytes, 6
// bits at their low ends, as mma with .kind has them.
llvm::Value* LoadExpanded(Emitter& e, llvm::Value* row, unsigned bits) {
  auto& ir = e.ir;
  const unsigned bytes = bits / 2;
  llvm::Value* first = ir.CreateMul(ThreadInGroup(e), ir.getInt32(bytes));
  llvm::Value* packed = ir.getInt32(0);
  for (unsigned i = 0; i < bytes; ++i) {
    llvm::Value* at = SharedAt(e, row, ir.CreateAdd(first, ir.getInt32(i)));
    llvm::Value* byte = ir.CreateZExt(ir.CreateLoad(ir.getInt8Ty(), at), ir.getInt32Ty());
    packed = ir.CreateOr(packed, ir.CreateShl(byte, 8 * i));
  }
  llvm::Value* word = ir.getInt32(0);
  for (unsigned i = 0; i < 4; ++i) {
    llvm::Value* element = ir.CreateAnd(ir.CreateLShr(packed, bits * i), (1u << bits) - 1);
    word = ir.CreateOr(word, ir.CreateShl(element, 8 * i + (bits == 4 ? 2 : 0)));
  }
  return word;
}

// The lanes load all matrices together. `own_row`: the row that this lane names.
void LoadRows(Emitter& e, const std::vector<const ptx::Operand*>& registers, llvm::Value* own_row) {
  const std::string matrices = (e.Has(M::kTrans) ? "across.x" : "along.x") + std::to_string(registers.size());
  llvm::Type* word = e.ir.getInt32Ty();
  llvm::Type* words = llvm::StructType::get(e.context(), std::vector<llvm::Type*>(registers.size(), word));
  llvm::Value* loaded =
      e.Call("tutti.matrix_rows.", matrices, registers.size() == 1 ? word : words, {own_row}, Effect::kWarpLoad);
  for (unsigned j = 0; j < registers.size(); ++j)
    e.Write(*registers[j], registers.size() == 1 ? loaded : e.ir.CreateExtractValue(loaded, j), T::kB32);
}

// Lane 8 j + i gives the address of row i of matrix j.
void Move(Emitter& e, bool store) {
  auto& ir = e.ir;
  const auto registers = e.Elements(e.operand(store ? 1 : 0));
  const ptx::StateSpace space = e.instruction().space;
  const bool expands = !store && e.Has(M::kM8n16) && e.type(0) == T::kB8x16;
  const unsigned source_bits = e.type(1) == T::kB4x16P64 ? 4 : e.type(1) == T::kB6x16P32 ? 6 : 0;
  if (expands ? source_bits == 0 : ptx::BitsOf(e.type()) != 16) return e.Refuse("only of 16-bit elements");
  if (registers.size() != (e.Has(M::kX4) ? 4u : e.Has(M::kX2) ? 2u : 1u))
    return e.Invalid("the number of registers is not that of the matrices");
  llvm::Value* pointer = e.Pointer(e.operand(store ? 0 : 1), space);
  llvm::Value* address = ir.CreatePtrToInt(pointer, ir.getInt64Ty());
  if (pointer->getType()->getPointerAddressSpace() == kGenericSpace) {  // the address of shared memory may be generic
    address = ir.CreateSub(address, e.CallI64("tutti.shared_base"));
  }
  llvm::Value* own_row = ir.CreateTrunc(address, ir.getInt32Ty());
  if (!store && !expands) return LoadRows(e, registers, own_row);
  for (uint32_t j = 0; j < registers.size(); ++j) {
    if (expands) {
      llvm::Value* row = e.FromLane(own_row, ir.CreateAdd(GroupId(e), ir.getInt32(8 * j)));
      e.Write(*registers[j], LoadExpanded(e, row, source_bits), T::kB32);
      continue;
    }
    llvm::Value* word = e.Read(*registers[j], T::kB32);
    if (!e.Has(M::kTrans)) {
      llvm::Value* row = e.FromLane(own_row, ir.CreateAdd(GroupId(e), ir.getInt32(8 * j)));
      ir.CreateAlignedStore(word, SharedAt(e, row, ir.CreateShl(ThreadInGroup(e), 2)), llvm::Align(4));
      continue;
    }
    for (uint32_t h = 0; h < 2; ++h) {
      llvm::Value* lane = ir.CreateAdd(ir.CreateShl(ThreadInGroup(e), 1), ir.getInt32(8 * j + h));
      llvm::Value* at = SharedAt(e, e.FromLane(own_row, lane), ir.CreateShl(GroupId(e), 1));
      ir.CreateAlignedStore(ir.CreateTrunc(ir.CreateLShr(word, 16 * h), ir.getInt16Ty()), at, llvm::Align(2));
    }
  }
}

}  // namespace

void EmitLdmatrix(Emitter& e) { Move(e, e.instruction().opcode == ptx::Opcode::kStmatrix); }

// movmatrix.sync.aligned.m8n8.trans.b16 d, a: element (row, column) is in lane 4 row + column / 2, half column % 2.
void EmitMovmatrix(Emitter& e) {
  auto& ir = e.ir;
  llvm::Value* a = e.In(1, T::kB32);
  llvm::Value* result = nullptr;
  llvm::Value* column = GroupId(e);  // of the source
  for (uint32_t h = 0; h < 2; ++h) {
    llvm::Value* row = ir.CreateAdd(ir.CreateShl(ThreadInGroup(e), 1), ir.getInt32(h));
    llvm::Value* lane = ir.CreateAdd(ir.CreateShl(row, 2), ir.CreateLShr(column, 1));
    llvm::Value* word = e.FromLane(a, lane);
    llvm::Value* half = ir.CreateAnd(ir.CreateLShr(word, ir.CreateShl(ir.CreateAnd(column, 1), 4)), 0xffff);
    result = h == 0 ? half : ir.CreateOr(result, ir.CreateShl(half, 16));
  }
  e.Out(result, T::kB32);
}

}  // namespace tutti::compiler::lowering
