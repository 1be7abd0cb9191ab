#include "compiler/widen/analysis/row.h"

#include <llvm/IR/DataLayout.h>

#include <algorithm>
#include <optional>

#include "compiler/widen/analysis/address_sum.h"
#include "compiler/widen/analysis/shape_analysis.h"

namespace tutti::compiler {
namespace {

constexpr size_t kMostRows = 8;  // rows per block with which each access is compared
constexpr int64_t kMostElements = 4;
constexpr unsigned kLeastRun = 8;

const llvm::Value* PointerOf(const llvm::Instruction& access) { return llvm::getLoadStorePointerOperand(&access); }

bool IsSimple(const llvm::Instruction& access) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&access)) return load->isSimple();
  return llvm::cast<llvm::StoreInst>(access).isSimple();
}

// From each lane to the next, in bytes; 0 if that is not one distance, upwards.
int64_t StrideOf(const Shape& address) {
  if (!address.is_runs() || address.run() < kLeastRun) return 0;
  const int64_t stride = Difference(address.offset(1), address.offset(0));
  for (unsigned lane = 1; lane < kLanes; ++lane) {
    if (lane % address.run() != 0 && Difference(address.offset(lane), address.offset(lane - 1)) != stride) return 0;
  }
  return std::max<int64_t>(stride, 0);
}

// No store of the program changes what it reads.
bool ReadsConstants(const llvm::Instruction& access) {
  return llvm::isa<llvm::LoadInst>(access) && (access.hasMetadata(llvm::LLVMContext::MD_invariant_load) ||
                                               PointerOf(access)->getType()->getPointerAddressSpace() == 101);
}

}  // namespace

// Accesses that others may still join. Offsets are from the first on, in bytes.
struct Rows::Open {
  struct Member {
    const llvm::Instruction* access;
    int64_t offset;
  };
  struct Range {
    int64_t offset, size;
  };
  AddressSum sum;
  unsigned space;
  bool writes;
  bool lanes_are_apart;  // whole rows of different lanes do not overlap
  int64_t stride, bytes;
  llvm::Align align;
  int64_t low = 0, high = 0;
  llvm::SmallVector<Member, 4> members;
  llvm::SmallVector<Range, 4> stored;  // in rows of loads: what has been stored since the first

  bool IsWithin(int64_t offset, int64_t size) const {
    return std::max(high, offset + size) - std::min(low, offset) <= stride;
  }
  bool Overlaps(int64_t offset, int64_t size) const {
    return llvm::any_of(
        members, [&](const Member& member) { return offset < member.offset + bytes && member.offset < offset + size; });
  }
  // The first load is where all are made: the others' addresses may not be known there, its own is.
  bool MayHave(int64_t offset) const {
    return (writes || offset > 0) && offset % bytes == 0 &&
           std::max(high, offset + bytes) - std::min(low, offset) <= kMostElements * bytes &&
           llvm::none_of(stored, [&](const Range& range) {
             return offset < range.offset + range.size && range.offset < offset + bytes;
           });
  }
};

Rows::Rows(const llvm::Function& scalar, const llvm::DataLayout& layout, const ShapeAnalysis& shapes)
    : layout_(layout), shapes_(shapes) {
  for (const llvm::BasicBlock& block : scalar) {
    std::vector<Open> open;
    for (const llvm::Instruction& instruction : block) {
      if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction) && IsSimple(instruction)) {
        Add(instruction, open);
      } else if (instruction.mayReadOrWriteMemory() || instruction.mayHaveSideEffects()) {
        for (Open& row : open) Close(row);
        open.clear();
      }
    }
    for (Open& row : open) Close(row);
  }
}

void Rows::Add(const llvm::Instruction& access, std::vector<Open>& open) {
  const llvm::Value* pointer = PointerOf(access);
  llvm::Type* type = llvm::getLoadStoreType(const_cast<llvm::Instruction*>(&access));
  const auto bytes = static_cast<int64_t>(layout_.getTypeStoreSize(type).getFixedValue());
  const bool writes = llvm::isa<llvm::StoreInst>(access);
  const AddressSum sum = AddressSumOf(pointer);
  const unsigned space = pointer->getType()->getPointerAddressSpace();
  const llvm::Align align = llvm::getLoadStoreAlignment(const_cast<llvm::Instruction*>(&access));
  const bool is_element = type->isSingleValueType() && !type->isVectorTy() && bytes <= 8;
  bool joined = false;
  std::erase_if(open, [&](Open& row) {
    if (row.space == space && row.sum.IsParallelTo(sum)) {
      const int64_t offset = sum.DistanceFrom(row.sum);
      if (row.IsWithin(offset, bytes) && !row.Overlaps(offset, bytes)) {
        const bool is_alike = is_element && row.writes == writes && row.bytes == bytes && row.align == align;
        if (!joined && is_alike && row.MayHave(offset)) {
          row.members.push_back({&access, offset});
          row.low = std::min(row.low, offset);
          row.high = std::max(row.high, offset + bytes);
          joined = true;
          return false;
        }
        if (row.lanes_are_apart) {
          if (writes && !row.writes) row.stored.push_back({offset, bytes});
          return false;
        }
      }
    }
    if ((!row.writes && !writes) || ReadsConstants(access)) return false;
    Close(row);
    return true;
  });
  if (joined || open.size() >= kMostRows || !is_element) return;
  const Shape& shape = shapes_.Of(pointer);
  const int64_t stride = StrideOf(shape);
  if (stride < 2 * bytes) return;
  open.push_back({.sum = sum,
                  .space = space,
                  .writes = writes,
                  .lanes_are_apart = shape.run() == kLanes,
                  .stride = stride,
                  .bytes = bytes,
                  .align = align,
                  .high = bytes,
                  .members = {{&access, 0}}});
}

void Rows::Close(Open& open) {
  const auto elements = static_cast<unsigned>((open.high - open.low) / open.bytes);
  if (open.members.size() < 2) return;
  // What nobody stores stays as it is.
  if (open.writes && (open.members.size() != elements || open.high - open.low != open.stride)) return;
  Row& row = all_.emplace_back();
  row.elements = elements;
  for (const Open::Member& member : open.members) {
    const auto element = static_cast<unsigned>((member.offset - open.low) / open.bytes);
    row.members.push_back({member.access, element});
    if (element == 0) row.low = PointerOf(*member.access);
    rows_[member.access] = &row;
  }
}

}  // namespace tutti::compiler
