// One unsigned comparison checks bounds and alignment of a whole warp's access, or of a span of accesses:
//
//     rotr(address - start, a) < ceil((size - (bytes - 1)) / 2^a)        a = log2 of the alignment
//
// A difference below `start` wraps to a huge number; a misaligned one rotates a nonzero bit to the top and is huge as
// well. The right-hand side depends only on the block and on constants, so it leaves loops (Limit, RotatedLimit).
//
// What is left is to decide what to compare with. RegionOf proves accesses safe where it can (allocas, parameters,
// shared memory by known bits), in which case there is no check, and else picks the memory that the address is most
// likely in: the client's window, unless the address space or its derivation says otherwise. Covers and SpanHolds only
// choose between two ways of making an access; a wrong guess costs time, not safety. The Require functions
// are what protects: behind a failed comparison the guest runtime checks each lane against every legal memory, and only
// then reports a fault.
#include "compiler/widen/memory/address_check.h"

#include <fmt/format.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/KnownBits.h>

#include <algorithm>

#include "compiler/contract/intrinsics.h"
#include "compiler/widen/emit/function_emitter.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

using guest::BlockState;
using guest::WarpState;
namespace runtime = guest_runtime;

// The alloca that `pointer` is derived from, and whether [pointer, pointer + bytes) is proved to be inside it, and
// aligned.
const llvm::AllocaInst* FindAlloca(FunctionEmitter& emitter, PathFacts& facts, const llvm::Instruction& access,
                                   const llvm::Value* pointer, uint64_t bytes, unsigned align_log2, bool& inside) {
  const llvm::DataLayout& layout = emitter.module().module.getDataLayout();
  llvm::APInt offset(64, 0);
  const llvm::Value* base = pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
  if (const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(base)) {
    const uint64_t size = alloca->getAllocationSize(layout)->getFixedValue();
    inside = offset.ule(size) && bytes <= size - offset.getZExtValue() && offset.countr_zero() >= align_log2 &&
             llvm::Log2(alloca->getAlign()) >= align_log2;
    return alloca;
  }
  inside = false;
  for (unsigned depth = 0; depth < 8; ++depth) {
    if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(base)) {
      base = gep->getPointerOperand();
    } else {
      break;
    }
  }
  const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(base);
  if (alloca == nullptr) return nullptr;
  const uint64_t size = alloca->getAllocationSize(layout)->getFixedValue();
  inside = bytes <= size && facts.BitsAt(pointer, access).countMinTrailingZeros() >= align_log2 &&
           facts.GreatestDistance(*pointer, *alloca) <= size - bytes;
  return alloca;
}

struct Bounds {
  int64_t low, high;
};

// Bounds of the lanes' offsets in each run. Empty if the lanes of a run do not share their alignment, or lie too far
// apart.
llvm::SmallVector<Bounds, 4> LaneBounds(const Shape& shape, unsigned align_log2) {
  constexpr int64_t kFar = int64_t{1} << 40;
  llvm::SmallVector<Bounds, 4> runs;
  if (!shape.is_runs()) return runs;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const int64_t offset = shape.offset(lane);
    if (offset <= -kFar || offset >= kFar) return {};
    if (lane % shape.run() == 0) runs.push_back({offset, offset});
    Bounds& bounds = runs.back();
    if ((offset - bounds.low) % (int64_t{1} << align_log2) != 0) return {};
    bounds.low = std::min(bounds.low, offset);
    bounds.high = std::max(bounds.high, offset);
  }
  return runs;
}

// Proved by known bits of the shared offset, and by its range in loops: thread indices are below the block's extents,
// and below what branches on the way compared them with.
bool IsInShared(FunctionEmitter& emitter, PathFacts& facts, const llvm::Instruction& access, const llvm::Value* pointer,
                uint64_t bytes, unsigned align_log2) {
  const uint64_t size = emitter.module().static_shared_bytes;
  if (llvm::isa<llvm::ConstantPointerNull>(pointer)) return bytes <= size;  // the first variable
  const auto* cast = llvm::dyn_cast<llvm::Operator>(pointer);
  if (cast == nullptr || cast->getOpcode() != llvm::Instruction::IntToPtr) return false;
  const llvm::KnownBits known = facts.BitsAt(cast->getOperand(0), access);
  return bytes <= size && known.countMinTrailingZeros() >= align_log2 &&
         facts.IsAtMost(cast->getOperand(0), size - bytes, access);
}

// Strips a constant offset from `pointer`.
const llvm::Value* BaseOf(const llvm::Value* pointer, uint64_t& offset) {
  offset = 0;
  const auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(pointer);
  if (cast == nullptr) return nullptr;
  const llvm::Value* address = cast->getOperand(0);
  if (const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(address);
      sum != nullptr && sum->getOpcode() == llvm::Instruction::Add) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1));
    if (constant == nullptr) return nullptr;
    offset = constant->getZExtValue();
    address = sum->getOperand(0);
  }
  return address;
}

constexpr IntrinsicName kConstantsBase = "tutti.constants_base", kSharedBase = "tutti.shared_base";

bool IsCallOf(const llvm::Value* value, IntrinsicName name) {
  const auto* call = llvm::dyn_cast_or_null<llvm::CallInst>(value);
  return call != nullptr && call->getCalledFunction() != nullptr &&
         call->getCalledFunction()->getName() == llvm::StringRef(name.get());
}

// This base of a memory is a term of the sum: most likely the address is one of that memory.
bool IsFrom(IntrinsicName base, const llvm::Value* value, unsigned depth = 6) {
  if (IsCallOf(value, base)) return true;
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || depth == 0) return false;
  const unsigned opcode = instruction->getOpcode();
  if (opcode != llvm::Instruction::Add && opcode != llvm::Instruction::Or && opcode != llvm::Instruction::IntToPtr &&
      opcode != llvm::Instruction::GetElementPtr)
    return false;
  return llvm::any_of(instruction->operands(),
                      [&](const llvm::Use& operand) { return IsFrom(base, operand.get(), depth - 1); });
}

// At an offset that is a constant. Constants begin on a page of their own.
bool IsInConstants(FunctionEmitter& emitter, const llvm::Value* pointer, uint64_t bytes, unsigned align_log2) {
  uint64_t offset = 0;
  if (!IsCallOf(BaseOf(pointer, offset), kConstantsBase)) return false;
  const uint64_t size = emitter.module().constant_bytes;
  return bytes <= size && offset <= size - bytes && offset % (uint64_t{1} << align_log2) == 0;
}

// Null, too, if the access is made as a part of a row, and not all of the row is in the span.
Span* SpanOf(FunctionEmitter& emitter, const llvm::Instruction& instruction) {
  Span* span = emitter.spans().Of(instruction);
  const Row* row = emitter.rows().Of(instruction);
  if (row == nullptr) return span;
  const bool has_all =
      llvm::all_of(row->members, [&](const Row::Member& member) { return emitter.spans().Of(*member.access) == span; });
  return has_all ? span : nullptr;
}

}  // namespace

Region RegionOf(FunctionEmitter& emitter, const llvm::Instruction& instruction, const llvm::Value* pointer,
                uint64_t bytes) {
  return RegionOf(emitter, emitter.facts(), instruction, pointer, bytes);
}

Region RegionOf(FunctionEmitter& emitter, PathFacts& facts, const llvm::Instruction& instruction,
                const llvm::Value* pointer, uint64_t bytes) {
  Region region;
  const unsigned align_log2 = AccessAlignLog2(instruction);
  switch (pointer->getType()->getPointerAddressSpace()) {
    case 0: {
      bool inside = false;
      if (FindAlloca(emitter, facts, instruction, pointer, bytes, align_log2, inside) != nullptr) {
        region.spaces = region.likely = runtime::kLocal;
        region.is_safe = inside;
      } else {
        region.spaces = runtime::kWindow | runtime::kShared | runtime::kLocal | runtime::kParams;
        if (IsFrom(kConstantsBase, pointer)) region.likely = runtime::kConstants;
        if (IsFrom(kSharedBase, pointer)) region.likely = runtime::kShared;
      }
      break;
    }
    case 3:
      region.spaces = region.likely = runtime::kShared;
      region.base = emitter.abi().shared_base();
      region.is_safe = IsInShared(emitter, facts, instruction, pointer, bytes, align_log2);
      break;
    case 4:
      if (emitter.module().constant_bytes != 0) region.likely = runtime::kConstants;
      region.is_safe = IsInConstants(emitter, pointer, bytes, align_log2);
      break;
    case 5: region.spaces = region.likely = runtime::kLocal; break;
    case 101: {
      region.spaces = region.likely = runtime::kParams;
      region.base = emitter.abi().params_base();
      llvm::APInt offset(64, 0);
      const llvm::Value* base =
          pointer->stripAndAccumulateConstantOffsets(emitter.module().module.getDataLayout(), offset, true);
      uint64_t at = ~uint64_t{0};
      if (llvm::isa<llvm::ConstantPointerNull>(base)) at = offset.getZExtValue();
      if (const auto* constant = llvm::dyn_cast<llvm::ConstantExpr>(base);
          constant != nullptr && constant->getOpcode() == llvm::Instruction::IntToPtr) {
        if (const auto* value = llvm::dyn_cast<llvm::ConstantInt>(constant->getOperand(0)))
          at = value->getZExtValue() + offset.getZExtValue();
      }
      region.is_safe = at <= emitter.module().param_bytes && bytes <= emitter.module().param_bytes - at &&
                       at % (uint64_t{1} << align_log2) == 0;
      break;
    }
    default: break;
  }
  return region;
}

void OnlyWritable(Region& region) {
  region.spaces = (region.spaces & ~runtime::kParams) | runtime::kWrites;
  if (region.likely == runtime::kConstants) region = {.spaces = region.spaces};
}

AddressCheck::AddressCheck(FunctionEmitter& emitter, const Region& region, const llvm::Instruction& instruction)
    : AddressCheck(emitter, region, instruction, AccessAlignLog2(instruction)) {}

AddressCheck::AddressCheck(FunctionEmitter& emitter, const Region& region, const llvm::Instruction& instruction,
                           unsigned align_log2)
    : emitter_(emitter), region_(region), instruction_(instruction), align_log2_(align_log2) {}

bool AddressCheck::is_off() const { return region_.is_safe || !emitter_.module().options.check_addresses; }

uint32_t AddressCheck::what(uint64_t bytes) const {
  if (bytes >> (32 - runtime::kBytesShift) != 0)
    llvm::report_fatal_error("an access of more bytes than can be checked");
  return region_.spaces | align_log2_ << runtime::kAlignShift | static_cast<uint32_t>(bytes) << runtime::kBytesShift;
}

uint64_t AddressCheck::place() const {
  ModuleState& module = emitter_.module();
  return module.locations.IndexOf(instruction_) | module.param_bytes << 32;
}

AddressCheck::Range AddressCheck::Likely() {
  Abi& abi = emitter_.abi();
  llvm::Type* i64 = emitter_.builder().getInt64Ty();
  llvm::Type* i32 = emitter_.builder().getInt32Ty();
  switch (region_.likely) {
    case runtime::kShared:
      return {abi.shared_base(), abi.Once("shared_bytes", [&](llvm::IRBuilder<>& builder) {
                return builder.CreateZExt(abi.BlockField(offsetof(BlockState, shared_bytes), i32), i64);
              })};
    case runtime::kLocal:
      return {abi.local_base(), abi.Once("local_bytes", [&](llvm::IRBuilder<>& builder) {
                return builder.CreateShl(builder.CreateZExt(abi.WarpField(offsetof(WarpState, local_bytes), i32), i64),
                                         5);
              })};
    case runtime::kParams: return {abi.params_base(), llvm::ConstantInt::get(i64, emitter_.module().param_bytes)};
    case runtime::kConstants:
      return {abi.BlockField(offsetof(BlockState, constants_base), i64),
              llvm::ConstantInt::get(i64, emitter_.module().constant_bytes)};
    default:
      return {abi.BlockField(offsetof(BlockState, reach_base), i64),
              abi.BlockField(offsetof(BlockState, reach_bytes), i64)};
  }
}

// An access at offset x from the start is inside if x < size - (bytes - 1); none is if the memory is smaller.
llvm::Value* AddressCheck::Limit(llvm::IRBuilder<>& builder, uint64_t bytes) {
  llvm::Value* size = Likely().size;
  return builder.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, size,
                                       llvm::ConstantInt::get(size->getType(), bytes - 1));
}

// The bound of the rotated difference: the number of aligned places below the limit.
llvm::Value* AddressCheck::RotatedLimit(uint64_t bytes, unsigned align_log2) {
  const std::string name = fmt::format("limit of {} bytes at 2^{} in {}", bytes, align_log2, region_.likely);
  return emitter_.abi().Once(name, [&](llvm::IRBuilder<>& builder) {
    llvm::Value* limit = Limit(builder, bytes);
    return builder.CreateLShr(builder.CreateAdd(limit, builder.getInt64((uint64_t{1} << align_log2) - 1)), align_log2);
  });
}

llvm::Value* AddressCheck::Rotated(llvm::Value* difference, unsigned align_log2) {
  if (align_log2 == 0) return difference;
  llvm::Value* by = llvm::ConstantInt::get(difference->getType(), align_log2);
  return emitter_.builder().CreateIntrinsic(llvm::Intrinsic::fshr, {difference->getType()},
                                            {difference, difference, by});
}

llvm::Value* AddressCheck::Covers(llvm::Value* address, uint64_t bytes, unsigned align_log2) {
  return is_off() ? emitter_.builder().getTrue() : Contains(address, bytes, align_log2);
}

llvm::Value* AddressCheck::Contains(llvm::Value* address, uint64_t bytes, unsigned align_log2) {
  llvm::IRBuilder<>& builder = emitter_.builder();
  return builder.CreateICmpULT(Rotated(builder.CreateSub(address, Likely().start), align_log2),
                               RotatedLimit(bytes, align_log2));
}

llvm::Value* AddressCheck::ElementsFrom(llvm::Value* base, uint64_t bytes, uint64_t scale_log2) {
  return Elements(base, bytes, scale_log2, align_log2_);
}

// Counted in aligned places, of which a misaligned base is behind the last. No selection between two ways: that would
// become two conditions of each access.
llvm::Value* AddressCheck::Elements(llvm::Value* base, uint64_t bytes, uint64_t scale_log2, unsigned align_log2) {
  llvm::IRBuilder<>& builder = emitter_.builder();
  const auto as_wide = [&](llvm::Value* value) {
    return base->getType()->isVectorTy() ? builder.CreateVectorSplat(kLanes, value) : value;
  };
  llvm::Value* place = Rotated(builder.CreateSub(base, as_wide(Likely().start)), align_log2);
  llvm::Value* left =
      builder.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, as_wide(RotatedLimit(bytes, align_log2)), place);
  const uint64_t apart_log2 = scale_log2 - align_log2;
  llvm::Value* rest = llvm::ConstantInt::get(left->getType(), (uint64_t{1} << apart_log2) - 1);
  return builder.CreateLShr(builder.CreateAdd(left, rest), apart_log2);
}

llvm::Value* AddressCheck::SpanHolds(unsigned most_runs) {
  if (is_off()) return nullptr;
  Span* span = SpanOf(emitter_, instruction_);
  // Constants are readable but not writable, so a span that writes cannot be checked against them.
  if (span == nullptr || (span->writes && region_.likely == runtime::kConstants)) return nullptr;
  if (span->holds != nullptr) return span->holds;
  if (llvm::Value* holds = SpanHoldsByIndex(*span, most_runs)) return span->holds = holds;
  const auto runs = LaneBounds(emitter_.shape(span->base), span->align_log2);
  if (runs.empty() || runs.size() > most_runs) return nullptr;
  llvm::IRBuilder<>& builder = emitter_.builder();
  llvm::Value* holds = emitter_.values().Assumption(span->base);
  for (unsigned r = 0; r < runs.size(); ++r) {
    llvm::Value* address = emitter_.values().Base(span->base, kLanes / static_cast<unsigned>(runs.size()), r);
    address = builder.CreateAdd(address, llvm::ConstantInt::getSigned(builder.getInt64Ty(), runs[r].low + span->low));
    if (region_.base != nullptr) address = builder.CreateAdd(address, region_.base);
    llvm::Value* covers =
        Covers(address, static_cast<uint64_t>(runs[r].high - runs[r].low + span->high - span->low), span->align_log2);
    holds = holds == nullptr ? covers : builder.CreateAnd(holds, covers);
  }
  return span->holds = holds;
}

llvm::Value* AddressCheck::AssumptionBeside(const llvm::Value* span_holds, const llvm::Value* pointer) {
  if (span_holds == nullptr) return emitter_.values().Assumption(pointer);
  const auto& known = emitter_.shape(SpanOf(emitter_, instruction_)->base).wraps();
  const bool is_implied = llvm::all_of(emitter_.shape(pointer).wraps(), [&](const WrapTerm& term) {
    return llvm::any_of(known, [&](const WrapTerm& other) { return other.extension == term.extension; });
  });
  return is_implied ? nullptr : emitter_.values().Assumption(pointer);
}

// Of addresses table + scale * index, where the table is known when the block begins: how many elements it has is, too,
// and one comparison of the index is left, which says besides that no lane's index wraps. A table that begins before
// the memory has none, so where the span does, it is checked by its address.
llvm::Value* AddressCheck::SpanHoldsByIndex(const Span& span, unsigned most_runs) {
  constexpr uint64_t kFarApart = 1u << 24;
  if (region_.base != nullptr) return nullptr;
  const Shape& shape = emitter_.shape(span.base);
  const auto table = shape.is_runs() ? FindTableAddress(emitter_, span.base) : std::nullopt;
  if (!table || table->scale_log2 < span.align_log2 ||
      static_cast<int64_t>(table->constant + static_cast<uint64_t>(span.low)) < 0)
    return nullptr;
  const auto is_other = [&](const WrapTerm& term) { return term.extension != table->extension; };
  const llvm::Value* narrow = table->extension->getOperand(0);
  const bool is_signed = llvm::isa<llvm::SExtInst>(table->extension);
  const Shape& index = emitter_.shape(narrow);
  if (llvm::any_of(shape.wraps(), is_other) || !index.is_runs() || !index.wraps().empty() || index.run() < shape.run())
    return nullptr;
  const auto runs = LaneBounds(index, 0);
  const auto is_far = [](const Bounds& run) { return static_cast<uint64_t>(run.high - run.low) > kFarApart; };
  if (runs.empty() || runs.size() > most_runs || llvm::any_of(runs, is_far)) return nullptr;
  llvm::IRBuilder<>& builder = emitter_.builder();
  llvm::Value* base = llvm::ConstantInt::getSigned(builder.getInt64Ty(), span.low);
  for (const auto& [value, scale] : table->terms)
    base = builder.CreateAdd(base, builder.CreateShl(emitter_.values().Uniform(value), scale));
  llvm::Value* all = nullptr;
  for (unsigned r = 0; r < runs.size(); ++r) {
    const auto apart = static_cast<uint64_t>(runs[r].high - runs[r].low);
    llvm::Value* elements = Elements(base, (apart << table->scale_log2) + static_cast<uint64_t>(span.high - span.low),
                                     table->scale_log2, span.align_log2);
    const uint64_t most = (uint64_t{1} << (is_signed ? 31 : 32)) - apart;
    elements = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, elements, builder.getInt64(most));
    llvm::Value* first = emitter_.values().Base(narrow, index.run(), r);
    first =
        is_signed ? builder.CreateSExt(first, builder.getInt64Ty()) : builder.CreateZExt(first, builder.getInt64Ty());
    first = builder.CreateAdd(first, llvm::ConstantInt::getSigned(builder.getInt64Ty(), runs[r].low));
    llvm::Value* holds = builder.CreateICmpULT(first, elements);
    all = all == nullptr ? holds : builder.CreateAnd(all, holds);
  }
  return all;
}

llvm::Value* AddressCheck::SpanHoldsForActive() {
  if (is_off()) return nullptr;
  Span* span = emitter_.spans().Of(instruction_);
  if (span == nullptr || span->accesses == 1 || (span->writes && region_.likely == runtime::kConstants)) return nullptr;
  if (span->holds_for_active != nullptr) return span->holds_for_active;
  llvm::IRBuilder<>& builder = emitter_.builder();
  const auto bytes = static_cast<uint64_t>(span->high - span->low);
  const auto moved = [&](llvm::Value* base) {
    base = builder.CreateAdd(base, llvm::ConstantInt::getSigned(builder.getInt64Ty(), span->low));
    return region_.base != nullptr ? builder.CreateAdd(base, region_.base) : base;
  };
  llvm::Value* outside;
  if (auto indexed = FindIndexedAddress(emitter_, span->base)) {
    indexed->base = moved(indexed->base);
    outside = IsOutside(builder, *indexed, Likely().start, Limit(builder, bytes), span->align_log2);
  } else {
    llvm::Value* start = builder.CreateSub(Likely().start, moved(builder.getInt64(0)));
    llvm::Value* distance =
        builder.CreateSub(emitter_.values().Vector(span->base), builder.CreateVectorSplat(kLanes, start));
    llvm::Value* limit = builder.CreateVectorSplat(kLanes, RotatedLimit(bytes, span->align_log2));
    outside = builder.CreateICmpUGE(Rotated(distance, span->align_log2), limit);
  }
  llvm::Value* bits = emitter_.Bits(emitter_.Masked(outside));
  return span->holds_for_active = builder.CreateICmpEQ(bits, builder.getInt32(0));
}

void AddressCheck::RequireScalar(llvm::Value* address, uint64_t bytes) {
  if (is_off()) return;
  emitter_.Unless(Covers(address, bytes, align_log2_), [&] { CheckScalar(emitter_.FirstLane(), address, bytes); });
}

void AddressCheck::RequireOfLane(llvm::Value* holds, llvm::Value* lane, llvm::Value* address, uint64_t bytes) {
  if (!is_off()) emitter_.Unless(holds, [&] { CheckScalar(lane, address, bytes); });
}

void AddressCheck::RequireScalars(llvm::ArrayRef<llvm::Value*> addresses, uint64_t bytes) {
  if (is_off()) return;
  if (llvm::Value* holds = SpanHolds()) {
    emitter_.Unless(holds, [&] {
      llvm::Value* lane = emitter_.FirstLane();
      for (llvm::Value* address : addresses) CheckScalar(lane, address, bytes);
    });
  } else {
    for (llvm::Value* address : addresses) RequireScalar(address, bytes);
  }
}

void AddressCheck::CheckScalar(llvm::Value* lane, llvm::Value* address, uint64_t bytes) {
  llvm::IRBuilder<>& builder = emitter_.builder();
  ModuleState& module = emitter_.module();
  llvm::Type *i32 = builder.getInt32Ty(), *i64 = builder.getInt64Ty();
  builder.CreateCall(
      module.Runtime("tutti_check", builder.getVoidTy(), {builder.getPtrTy(), i64, i32, i32, i32, i32, i32}),
      {emitter_.abi().warp(), address, builder.getInt32(static_cast<uint32_t>(bytes)), lane,
       emitter_.Location(instruction_), builder.getInt32(what()),
       builder.getInt32(static_cast<uint32_t>(module.param_bytes))});
}

void AddressCheck::RequireLanes(llvm::Value* addresses, uint64_t bytes) {
  if (is_off()) return;
  llvm::IRBuilder<>& builder = emitter_.builder();
  llvm::Value* start = builder.CreateVectorSplat(kLanes, Likely().start);
  llvm::Value* limit = builder.CreateVectorSplat(kLanes, RotatedLimit(bytes, align_log2_));
  CheckLanes(builder.CreateICmpUGE(Rotated(builder.CreateSub(addresses, start), align_log2_), limit), bytes,
             [&] { return addresses; });
}

void AddressCheck::RequireIndexed(const IndexedAddress& indexed, uint64_t bytes,
                                  llvm::function_ref<llvm::Value*()> addresses) {
  if (is_off()) return;
  CheckLanes(IsOutside(emitter_.builder(), indexed, Likely().start, Limit(emitter_.builder(), bytes), align_log2_),
             bytes, addresses);
}

void AddressCheck::CheckLanes(llvm::Value* outside, uint64_t bytes, llvm::function_ref<llvm::Value*()> addresses) {
  llvm::IRBuilder<>& builder = emitter_.builder();
  llvm::Value* bits = emitter_.Bits(emitter_.Masked(outside));
  emitter_.Unless(builder.CreateICmpEQ(bits, builder.getInt32(0)), [&] {
    llvm::Type* i32 = builder.getInt32Ty();
    llvm::Value* all = addresses();
    builder.CreateCall(emitter_.module().Runtime("tutti_check_lanes", builder.getVoidTy(),
                                                 {builder.getPtrTy(), all->getType(), i32, i32, builder.getInt64Ty()}),
                       {emitter_.abi().warp(), all, bits, builder.getInt32(what(bytes)), builder.getInt64(place())});
  });
}

}  // namespace tutti::compiler
