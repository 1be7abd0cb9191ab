// mov with packing and unpacking; conversions between address spaces.
#include "compiler/lower/cluster.h"
#include "compiler/lower/families.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using S = ptx::StateSpace;

ptx::Type BitsTypeOf(uint32_t bits) {
  switch (bits) {
    case 8: return ptx::Type::kB8;
    case 16: return ptx::Type::kB16;
    case 32: return ptx::Type::kB32;
    case 64: return ptx::Type::kB64;
    default: return ptx::Type::kNone;
  }
}

// mov.b64 d, {low, ..., high}
void Pack(Emitter& e) {
  const auto parts = e.Elements(e.operand(1));
  if (parts.empty()) return e.Invalid("an empty list of registers");
  const ptx::Type part_type = BitsTypeOf(ptx::BitsOf(e.type()) / static_cast<uint32_t>(parts.size()));
  if (part_type == ptx::Type::kNone) return e.Invalid("the parts do not make up the whole");
  llvm::Type* whole = e.ir.getIntNTy(ptx::BitsOf(e.type()));
  llvm::Value* value = nullptr;
  for (size_t i = 0; i < parts.size(); ++i) {
    llvm::Value* part = e.ir.CreateZExt(e.Read(*parts[i], part_type), whole);
    if (i != 0) part = e.ir.CreateShl(part, i * ptx::BitsOf(part_type));
    value = value == nullptr ? part : e.ir.CreateOr(value, part);
  }
  e.Out(e.ir.CreateBitCast(value, TypeOf(e.context(), e.type())));
}

// mov.b64 {low, ..., high}, s
void Unpack(Emitter& e) {
  const auto parts = e.Elements(e.operand(0));
  if (parts.empty()) return e.Invalid("an empty list of registers");
  const ptx::Type part_type = BitsTypeOf(ptx::BitsOf(e.type()) / static_cast<uint32_t>(parts.size()));
  if (part_type == ptx::Type::kNone) return e.Invalid("the parts do not make up the whole");
  llvm::Value* value = AsBits(e.ir, e.In(1));
  for (size_t i = 0; i < parts.size(); ++i) {
    llvm::Value* part = i == 0 ? value : e.ir.CreateLShr(value, i * ptx::BitsOf(part_type));
    e.Write(*parts[i], e.ir.CreateTrunc(part, TypeOf(e.context(), part_type)), part_type);
  }
}

// mov.v2.b32 {c, d}, {a, b}: all are read before the first is written.
void CopyVector(Emitter& e) {
  std::vector<llvm::Value*> values;
  for (const ptx::Operand* source : e.Elements(e.operand(1))) values.push_back(e.Read(*source, e.type()));
  const auto targets = e.Elements(e.operand(0));
  if (targets.size() != values.size()) return e.Invalid("vectors of different lengths");
  for (size_t i = 0; i < targets.size(); ++i) e.Write(*targets[i], values[i], e.type());
}

// The generic address of offset 0 of a space; null where addresses are generic ones already.
llvm::Value* BaseOf(Emitter& e, S space) {
  if (space == S::kShared || space == S::kSharedCluster) return e.CallI64("tutti.shared_base");
  if (space == S::kParam && e.is_kernel()) return e.CallI64("tutti.param_base");
  return nullptr;
}

// address - base < bytes, unsigned.
llvm::Value* InWindow(Emitter& e, llvm::Value* address, llvm::Value* base, llvm::Value* bytes) {
  return e.ir.CreateICmpULT(e.ir.CreateSub(address, base), bytes);
}

}  // namespace

void EmitMov(Emitter& e) {
  if (TypeOf(e.context(), e.type()) == nullptr) return e.Invalid("mov of this type");
  const ptx::Operand& source = e.operand(1);
  const bool is_vector = e.operand(0).kind == ptx::OperandKind::kVector;
  if (is_vector && source.kind == ptx::OperandKind::kVector) return CopyVector(e);
  if (source.kind == ptx::OperandKind::kVector) return Pack(e);
  if (is_vector) return Unpack(e);
  e.Out(e.In(1));
}

void EmitCvta(Emitter& e) {
  const S space = e.instruction().space == S::kGeneric ? e.instruction().second_space : e.instruction().space;
  llvm::Value* base = BaseOf(e, space);
  llvm::Value* address = e.In(1, ptx::Type::kU64);
  if (base == nullptr) return e.Out(address);
  llvm::Value* mask = e.ir.getInt64(0xffffffffu);
  if (e.Has(M::kTo) && space == S::kSharedCluster) return e.Out(SharedClusterAddress(e, address));
  if (e.Has(M::kTo)) return e.Out(e.ir.CreateAnd(e.ir.CreateSub(address, base), mask));
  e.Out(e.ir.CreateAdd(base, e.ir.CreateAnd(address, mask)));
}

// An address in no known window is local: stacks lie outside of all of them.
void EmitIsspacep(Emitter& e) {
  auto& ir = e.ir;
  llvm::Value* address = e.In(1, ptx::Type::kU64);
  llvm::Value* shared = InWindow(e, address, e.CallI64("tutti.shared_base"),
                                 ir.CreateZExt(e.CallI32("tutti.shared_bytes"), ir.getInt64Ty()));
  llvm::Value* param =
      InWindow(e, address, e.CallI64("tutti.param_base"), ir.getInt64(e.module().kernel().param_bytes));
  const ModuleLayout& layout = e.module().layout();
  llvm::Value* constant = InWindow(e, address, e.CallI64("tutti.constants_base"), ir.getInt64(layout.const_end()));
  llvm::Value* device = InWindow(e, address, e.CallI64("tutti.window_base"), e.CallI64("tutti.window_bytes"));
  llvm::Value* result;
  switch (e.instruction().space) {
    case S::kShared: result = shared; break;
    case S::kSharedCluster: result = ir.CreateOr(shared, IsInCluster(e, address)); break;
    case S::kParam: result = param; break;
    case S::kConst: result = constant; break;
    case S::kGlobal: result = ir.CreateAnd(device, ir.CreateNot(constant)); break;
    default:
      shared = ir.CreateOr(shared, IsInCluster(e, address));
      result = ir.CreateNot(ir.CreateOr(ir.CreateOr(shared, param), ir.CreateOr(device, constant)));
  }
  e.Out(result, ptx::Type::kPred);
}

}  // namespace tutti::compiler::lowering
