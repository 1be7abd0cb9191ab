// Operations of a warp. The forms without .sync, of PTX for older GPUs, have all active lanes as members.
#include "compiler/lower/families.h"
#include "compiler/lower/float_values.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

llvm::Value* ActiveLanes(Emitter& e) { return e.Call("tutti.activemask", e.ir.getInt32Ty(), {}, Effect::kWarp); }

llvm::Value* Members(Emitter& e, size_t n) { return e.Has(M::kSync) ? e.In(n, T::kB32) : ActiveLanes(e); }

llvm::Value* Ballot(Emitter& e, llvm::Value* members, llvm::Value* predicate) {
  return e.Call("tutti.ballot", e.ir.getInt32Ty(), {members, predicate}, Effect::kWarp);
}

}  // namespace

// shfl{.sync}.mode.b32 d{|p}, a, b, c{, members}
void EmitShfl(Emitter& e) {
  const char* mode = e.Has(M::kIdx)    ? "idx.i32"
                     : e.Has(M::kUp)   ? "up.i32"
                     : e.Has(M::kDown) ? "down.i32"
                     : e.Has(M::kBfly) ? "bfly.i32"
                                       : nullptr;
  if (mode == nullptr) return e.Invalid("shfl needs a mode");
  const bool pair = e.instruction().has_second_destination;
  const size_t first = pair ? 2 : 1;
  llvm::Value* value = e.In(first, T::kB32);
  llvm::Value* b = e.In(first + 1, T::kB32);
  llvm::Value* c = e.In(first + 2, T::kB32);
  llvm::Value* members = Members(e, first + 3);
  llvm::Type* type = llvm::StructType::get(e.ir.getInt32Ty(), e.ir.getInt1Ty());
  llvm::Value* result = e.Call("tutti.shfl.", mode, type, {members, value, b, c}, Effect::kWarp);
  e.Write(e.operand(0), e.ir.CreateExtractValue(result, 0), T::kB32);
  if (pair) e.Write(e.operand(1), e.ir.CreateExtractValue(result, 1), T::kPred);
}

// vote{.sync}.mode d, {!}p{, members}
void EmitVote(Emitter& e) {
  llvm::Value* predicate = e.In(1, T::kPred);
  llvm::Value* members = Members(e, 2);
  if (e.Has(M::kBallot)) return e.Out(Ballot(e, members, predicate), T::kB32);
  if (e.Has(M::kAny)) return e.Out(e.ir.CreateIsNotNull(Ballot(e, members, predicate)), T::kPred);
  llvm::Value* all = e.ir.CreateIsNull(Ballot(e, members, e.ir.CreateNot(predicate)));
  if (e.Has(M::kAll)) return e.Out(all, T::kPred);
  if (!e.Has(M::kUni)) return e.Invalid("vote needs a mode");
  e.Out(e.ir.CreateOr(all, e.ir.CreateIsNull(Ballot(e, members, predicate))), T::kPred);
}

// match.any.sync.type d, a, members; match.all.sync.type d{|p}, a, members
void EmitMatch(Emitter& e) {
  const bool all = e.Has(M::kAll);
  const bool wide = ptx::BitsOf(e.type()) == 64;
  const size_t first = e.instruction().has_second_destination ? 2 : 1;
  const T type = wide ? T::kB64 : T::kB32;
  llvm::Value* value = e.In(first, type);
  llvm::Value* members = e.In(first + 1, T::kB32);
  if (!all) {
    return e.Out(e.Call("tutti.match.any.", wide ? "i64" : "i32", e.ir.getInt32Ty(), {members, value}, Effect::kWarp),
                 T::kB32);
  }
  llvm::Type* pair = llvm::StructType::get(e.ir.getInt32Ty(), e.ir.getInt1Ty());
  llvm::Value* result = e.Call("tutti.match.all.", wide ? "i64" : "i32", pair, {members, value}, Effect::kWarp);
  e.Write(e.operand(0), e.ir.CreateExtractValue(result, 0), T::kB32);
  if (first == 2) e.Write(e.operand(1), e.ir.CreateExtractValue(result, 1), T::kPred);
}

namespace {

// redux.sync.{min,max}{.abs}{.NaN}.f32: as integers in the order of the numbers, -0 below +0. A NaN is left out, or
// with .NaN the result.
void ReduceFloats(Emitter& e) {
  auto& ir = e.ir;
  const bool maximum = e.Has(M::kMax);
  if (!maximum && !e.Has(M::kMin)) return e.Invalid("redux of numbers is .min or .max");
  llvm::Value* x = e.In(1);
  llvm::Value* members = e.In(2, T::kB32);
  if (e.Has(M::kAbs)) x = e.Intrinsic(llvm::Intrinsic::fabs, {x});
  const auto in_order = [&](llvm::Value* bits) {  // its own inverse
    return ir.CreateXor(bits, ir.CreateAnd(ir.CreateAShr(bits, 31), 0x7fffffff));
  };
  llvm::Value* is_nan = IsNan(ir, x);
  llvm::Value* neutral = ir.getInt32(maximum ? 0x80000000 : 0x7fffffff);
  llvm::Value* key = ir.CreateSelect(is_nan, neutral, in_order(AsBits(ir, x)));
  llvm::Value* best = e.Call("tutti.redux.", maximum ? "max" : "min", ir.getInt32Ty(), {members, key}, Effect::kWarp);
  llvm::Value* no_result = e.Has(M::kPropagateNan) ? ir.CreateIsNotNull(Ballot(e, members, is_nan))
                                                   : ir.CreateIsNull(Ballot(e, members, ir.CreateNot(is_nan)));
  llvm::Value* bits = ir.CreateSelect(no_result, ir.getInt32(0x7fffffff), in_order(best));
  e.Out(ir.CreateBitCast(bits, ir.getFloatTy()));
}

}  // namespace

// redux.sync.op.type d, a, members
void EmitRedux(Emitter& e) {
  if (IsSinglePrecision(e.type())) return ReduceFloats(e);
  static constexpr struct {
    M modifier;
    const char* on_signed;
    const char* on_unsigned;
  } kOperations[] = {
      {M::kAdd, "add", "add"}, {M::kMin, "min", "umin"}, {M::kMax, "max", "umax"},
      {M::kAnd, "and", "and"}, {M::kOr, "or", "or"},     {M::kXor, "xor", "xor"},
  };
  if (!IsInteger(e.type()) || ptx::BitsOf(e.type()) != 32) return e.Refuse("redux of this type is not supported");
  for (const auto& row : kOperations) {
    if (!e.Has(row.modifier)) continue;
    const char* operation = ptx::IsSigned(e.type()) ? row.on_signed : row.on_unsigned;
    return e.Out(e.Call("tutti.redux.", operation, e.ir.getInt32Ty(), {e.In(2, T::kB32), e.In(1)}, Effect::kWarp));
  }
  e.Invalid("redux needs an operation");
}

void EmitActivemask(Emitter& e) { e.Out(ActiveLanes(e), T::kB32); }

// elect.sync d|p, members: d is the lowest member that is active, p is true there.
void EmitElect(Emitter& e) {
  const bool pair = e.instruction().has_second_destination;
  llvm::Value* members = e.In(pair ? 2 : 1, T::kB32);
  llvm::Value* active = Ballot(e, members, e.ir.getTrue());
  llvm::Value* leader = e.ir.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, active, e.ir.getFalse());
  e.Write(e.operand(0), leader, T::kB32);
  if (!pair) return;
  e.Write(e.operand(1), e.Call("tutti.elect", e.ir.getInt1Ty(), {members}, Effect::kWarp), T::kPred);
}

}  // namespace tutti::compiler::lowering
