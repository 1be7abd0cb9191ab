// Copies by tensor maps, executed synchronously like all asynchronous copies (async.cc), and changes of maps. The
// layout of a map is ours: guest/tensor_map.h.
#include "compiler/lower/cluster.h"
#include "compiler/lower/families.h"
#include "compiler/lower/mbarrier_word.h"
#include "compiler/runtime/tensor_request.h"
#include "guest/tensor_map.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;
using guest::TensorMap;
using guest_runtime::TensorAccess;
using guest_runtime::TensorAction;

uint32_t DimensionsOf(const Emitter& e) {
  constexpr M kDimensions[] = {M::k1D, M::k2D, M::k3D, M::k4D, M::k5D};
  uint32_t dimensions = 0;
  for (uint32_t i = 0; i < 5; ++i) {
    if (e.Has(kDimensions[i])) dimensions = i + 1;
  }
  return dimensions;
}

struct AccessRow {
  M modifier;
  TensorAccess access;
  bool loads, stores;
};
constexpr AccessRow kAccesses[] = {
    {M::kTile, TensorAccess::kTile, true, true},
    {M::kIm2col, TensorAccess::kIm2col, true, false},
    {M::kIm2colNoOffs, TensorAccess::kIm2col, false, true},
    {M::kTileGather4, TensorAccess::kRows4, true, false},
    {M::kTileScatter4, TensorAccess::kRows4, false, true},
};

TensorAction ReductionOf(const Emitter& e) {
  struct Row {
    M modifier;
    TensorAction action;
  };
  constexpr Row kRows[] = {{M::kAdd, TensorAction::kAdd}, {M::kMin, TensorAction::kMin}, {M::kMax, TensorAction::kMax},
                           {M::kInc, TensorAction::kInc}, {M::kDec, TensorAction::kDec}, {M::kAnd, TensorAction::kAnd},
                           {M::kOr, TensorAction::kOr},   {M::kXor, TensorAction::kXor}};
  for (const Row& row : kRows) {
    if (e.Has(row.modifier)) return row.action;
  }
  return TensorAction::kLoad;  // none
}

llvm::Value* SharedOffset(Emitter& e, llvm::Value* pointer) {
  return e.ir.CreateTrunc(e.ir.CreatePtrToInt(pointer, e.ir.getInt64Ty()), e.ir.getInt32Ty());
}

// The generic address of a map, which may be named as a parameter or a constant, too.
llvm::Value* MapAddress(Emitter& e, size_t operand) {
  llvm::Value* pointer = e.Pointer(e.operand(operand), ptx::StateSpace::kGeneric);
  llvm::Value* address = e.ir.CreatePtrToInt(pointer, e.ir.getInt64Ty());
  switch (pointer->getType()->getPointerAddressSpace()) {
    case kParamSpace: return e.ir.CreateAdd(address, e.CallI64("tutti.param_base"));
    case kSharedSpace: return e.ir.CreateAdd(address, e.CallI64("tutti.shared_base"));
    default: return address;
  }
}

void Replace(Emitter& e) {
  enum class Takes { kValue, kOrdinalAndValue };
  struct Row {
    M field;
    Takes takes;
    size_t offset, bytes, count;
  };
  constexpr Row kRows[] = {
      {M::kGlobalAddress, Takes::kValue, offsetof(TensorMap, address), 8, 1},
      {M::kRank, Takes::kValue, offsetof(TensorMap, rank), 1, 1},
      {M::kBoxDim, Takes::kOrdinalAndValue, offsetof(TensorMap, box), 2, 5},
      {M::kGlobalDim, Takes::kOrdinalAndValue, offsetof(TensorMap, sizes), 4, 5},
      {M::kGlobalStride, Takes::kOrdinalAndValue, offsetof(TensorMap, strides), 8, 4},
      {M::kElementStride, Takes::kOrdinalAndValue, offsetof(TensorMap, element_strides), 1, 5},
      {M::kElemtype, Takes::kValue, offsetof(TensorMap, type), 1, 1},
      {M::kInterleaveLayout, Takes::kValue, offsetof(TensorMap, interleave), 1, 1},
      {M::kSwizzleMode, Takes::kValue, offsetof(TensorMap, swizzle), 1, 1},
      {M::kFillMode, Takes::kValue, offsetof(TensorMap, fills_with_nan), 1, 1},
  };
  auto& ir = e.ir;
  const Row* field = nullptr;
  for (const Row& row : kRows) {
    if (e.Has(row.field)) field = &row;
  }
  if (field == nullptr || !e.Has(M::kTile) || !e.Has(M::kB1024))
    return e.Refuse("this field of a tensor map is not supported");
  const size_t value_at = field->takes == Takes::kValue ? 1 : 2;
  if (e.operands() != value_at + 1) return e.Invalid("another number of operands is needed");
  uint64_t ordinal = 0;
  if (value_at == 2) {
    const ptx::Operand& operand = e.operand(1);
    if (operand.kind != ptx::OperandKind::kImmediate || operand.bits >= field->count)
      return e.Invalid("a dimension is a number, and less than those of a tensor");
    ordinal = operand.bits;
  }
  llvm::Value* value = field->bytes == 8 ? e.In(value_at, T::kB64) : e.In(value_at, T::kB32);
  if (field->field == M::kRank) value = ir.CreateAdd(value, ir.getInt32(1));  // it is given less one
  // The fourth, of 96 bytes, is of later devices; what it would be is none of a map's.
  if (field->field == M::kSwizzleMode)
    value = ir.CreateSelect(ir.CreateICmpUGT(value, ir.getInt32(3)), ir.getInt32(0xff), value);
  if (field->field == M::kElemtype) {
    // The ISA numbers .f64, .bf16 and .f32.ftz otherwise than the driver's functions.
    const auto number = [&](guest::TensorType type) { return ir.getInt32(static_cast<uint32_t>(type)); };
    llvm::Value* given = value;
    value = ir.CreateSelect(ir.CreateICmpEQ(given, ir.getInt32(8)), number(guest::TensorType::kF32Ftz), value);
    value = ir.CreateSelect(ir.CreateICmpEQ(given, ir.getInt32(9)), number(guest::TensorType::kF64), value);
    value = ir.CreateSelect(ir.CreateICmpEQ(given, ir.getInt32(10)), number(guest::TensorType::kBF16), value);
  }
  llvm::Value* map = e.Pointer(e.operand(0), e.instruction().space);
  const auto store = [&](llvm::Value* stored, size_t offset, size_t bytes) {
    llvm::Value* at = ir.CreateGEP(ir.getInt8Ty(), map, ir.getInt64(offset));
    ir.CreateAlignedStore(stored, at, llvm::Align(bytes));
  };
  store(ir.getInt64(guest::kTensorMapMagic), offsetof(TensorMap, magic), 8);
  store(ir.CreateTrunc(value, ir.getIntNTy(static_cast<unsigned>(8 * field->bytes))),
        field->offset + ordinal * field->bytes, field->bytes);
}

}  // namespace

// cp.async.bulk.tensor.dim.shared.global{.mode} [to], [map, {coordinates}], [mbarrier]{, {offsets}}{, blocks}: a
// multicast copies to the same offset in each of the blocks, and its mbarrier is at its offset there.
// cp{.reduce}.async.bulk.tensor.dim.global.shared{.op}{.mode}.bulk_group [map, {coordinates}], [from]
void EmitTensorCopy(Emitter& e) {
  auto& ir = e.ir;
  const uint32_t dimensions = DimensionsOf(e);
  if (dimensions == 0) return e.Invalid("a number of dimensions is missing");
  TensorAccess access = TensorAccess::kTile;
  bool loads = e.instruction().space != ptx::StateSpace::kGlobal;
  for (const AccessRow& row : kAccesses) {
    if (!e.Has(row.modifier)) continue;
    access = row.access;
    if (!(loads || e.Has(M::kPrefetch) ? row.loads : row.stores)) return e.Invalid("no such mode of this copy");
  }
  if (e.Has(M::kPrefetch)) return void(e.Has(M::kL2));
  TensorAction action = loads ? TensorAction::kLoad : TensorAction::kStore;
  if (e.Has(M::kReduce)) action = ReductionOf(e);
  if (loads != (action == TensorAction::kLoad)) return e.Invalid("no such reduction");

  const size_t map_at = loads ? 1 : 0, other = loads ? 0 : 2;
  const ptx::Operand& map = e.operand(map_at);
  if (map.kind != ptx::OperandKind::kAddress || map.count != 1)
    return e.Invalid("a tensor is named by map and coordinates");
  const auto coordinates = e.Elements(e.operand(map_at + 1));
  const uint32_t wanted = access == TensorAccess::kRows4 ? 5 : dimensions;
  if (coordinates.size() != wanted) return e.Invalid("the tensor has another number of coordinates");
  llvm::Value* place = e.Pointer(e.operand(other), ptx::StateSpace::kShared);
  constexpr size_t kPlaceAt = 2;
  std::vector<llvm::Value*> arguments = {ir.getInt32(guest_runtime::TensorRequest(action, access, dimensions)),
                                         MapAddress(e, map_at), SharedOffset(e, place)};
  for (uint32_t i = 0; i < 5; ++i) arguments.push_back(i < wanted ? e.Read(*coordinates[i], T::kB32) : ir.getInt32(0));
  std::vector<llvm::Value*> offsets(3, ir.getInt32(0));
  if (loads && access == TensorAccess::kIm2col) {
    const auto given = e.Elements(e.operand(4));
    if (dimensions < 3 || given.size() != dimensions - 2)
      return e.Invalid("im2col needs an offset for each of W, H and D");
    for (size_t i = 0; i < given.size(); ++i) offsets[i] = ir.CreateZExt(e.Read(*given[i], T::kU16), ir.getInt32Ty());
  }
  arguments.insert(arguments.end(), offsets.begin(), offsets.end());
  const auto copy = [&] { return e.Call("tutti.tensor_copy", ir.getInt32Ty(), arguments, Effect::kMemory); };
  if (!loads) return void(copy());
  if (!e.Has(M::kMbarrierCompleteTxBytes)) return e.Invalid("an mbarrier counts the bytes");
  llvm::Value* barrier = e.Pointer(e.operand(3), ptx::StateSpace::kShared);
  const auto count = [&](llvm::Value* at, llvm::Value* bytes) {
    ChangeMbarrier(e, at, {.complete = ir.CreateZExt(bytes, ir.getInt64Ty())});
  };
  if (!e.Has(M::kMulticastCluster)) return count(barrier, copy());
  const size_t blocks_at = access == TensorAccess::kIm2col ? 5 : 4;
  if (e.operands() <= blocks_at) return e.Invalid("a multicast names blocks");
  ForEachBlock(e, e.In(blocks_at, T::kU16), [&](llvm::Value* rank) {
    arguments[kPlaceAt] = SharedOffset(e, PointerInBlock(e, place, rank));
    count(PointerInBlock(e, barrier, rank), copy());
  });
}

// tensormap.replace, and tensormap.cp_fenceproxy [global], [shared], 128.
void EmitTensormap(Emitter& e) {
  if (e.Has(M::kReplace)) return Replace(e);
  if (!e.Has(M::kCpFenceproxy)) return e.Refuse("this operation on tensor maps is not supported");
  for (const M word : {M::kTensormapGeneric, M::kRelease, M::kCta, M::kCluster, M::kGpu, M::kSys, M::kAligned})
    e.Has(word);
  const ptx::Operand& bytes = e.operand(2);
  if (bytes.kind != ptx::OperandKind::kImmediate || bytes.bits != sizeof(TensorMap))
    return e.Invalid("a tensor map has 128 bytes");
  llvm::Value* to = e.Pointer(e.operand(0), e.instruction().space);
  llvm::Value* from = e.Pointer(e.operand(1), e.instruction().second_space);
  llvm::Type* words = llvm::FixedVectorType::get(e.ir.getInt32Ty(), 4);
  for (uint64_t i = 0; i < sizeof(TensorMap); i += 16) {
    const auto at = [&](llvm::Value* map) { return e.ir.CreateGEP(e.ir.getInt8Ty(), map, e.ir.getInt64(i)); };
    e.ir.CreateAlignedStore(e.ir.CreateAlignedLoad(words, at(from), llvm::Align(16)), at(to), llvm::Align(16));
  }
  e.Call("tutti.fence", e.ir.getVoidTy(), {e.ir.getInt32(2)}, Effect::kMemory);
}

}  // namespace tutti::compiler::lowering
