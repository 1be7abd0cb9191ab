#include "compiler/widen/analysis/span.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>

#include <algorithm>

#include "compiler/widen/analysis/address_sum.h"

namespace tutti::compiler {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;  // far below where sums of offsets could wrap
constexpr size_t kMostOpen = 16;  // bases per block with which each access is compared

// All memories start at multiples of 16, which is what wider accesses are held to as well.
constexpr unsigned kMostAlignLog2 = 4;

// Extends `span` by `bytes` at `offset`. False if it would be too long, or if one of its accesses could never be
// aligned.
bool Extend(Span& span, int64_t offset, int64_t bytes, unsigned align_log2) {
  if (offset <= -kMostBytes || offset >= kMostBytes) return false;
  // The lowest address that is a multiple whenever the access with the stricter alignment is.
  const bool is_stricter = align_log2 > span.align_log2;
  const int64_t from = is_stricter ? offset : span.low, to = is_stricter ? span.low : offset;
  const int64_t greater = int64_t{1} << std::max(align_log2, span.align_log2);
  const int64_t lesser = int64_t{1} << std::min(align_log2, span.align_log2);
  if ((to - from) % lesser != 0) return false;
  const int64_t low = to < from ? from - (from - to + greater - 1) / greater * greater : from;
  const int64_t high = std::max(span.high, offset + bytes);
  if (high - low >= kMostBytes) return false;
  span.low = low;
  span.high = high;
  span.align_log2 = std::max(align_log2, span.align_log2);
  return true;
}

}  // namespace

unsigned AccessAlignLog2(const llvm::Instruction& access) {
  llvm::Align align;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&access)) align = load->getAlign();
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&access)) align = store->getAlign();
  if (const auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&access)) align = atomic->getAlign();
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&access)) align = exchange->getAlign();
  return std::min(llvm::Log2(align), kMostAlignLog2);
}

// Accesses of a block that may still be joined by others.
struct Spans::Open {
  AddressSum sum;
  unsigned space;
  Span* span;
};

Spans::Spans(const llvm::Function& scalar, const llvm::DataLayout& layout) : layout_(layout) {
  for (const llvm::BasicBlock& block : scalar) {
    std::vector<Open> open;
    for (const llvm::Instruction& instruction : block) {
      if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction)) Add(instruction, open);
      // Lanes may exit in a call, and what is known would have to be stored across it.
      if (llvm::isa<llvm::CallInst>(instruction) && instruction.mayHaveSideEffects()) open.clear();
    }
  }
}

void Spans::Add(const llvm::Instruction& access, std::vector<Open>& open) {
  const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&access);
  const auto bytes = static_cast<int64_t>(
      layout_.getTypeStoreSize(llvm::getLoadStoreType(const_cast<llvm::Instruction*>(&access))).getFixedValue());
  const bool writes = llvm::isa<llvm::StoreInst>(access);
  Open own{AddressSumOf(pointer), pointer->getType()->getPointerAddressSpace(), nullptr};
  for (const Open& other : open) {
    if (other.space != own.space || !own.sum.IsParallelTo(other.sum)) continue;
    if (!Extend(*other.span, own.sum.DistanceFrom(other.sum), bytes, AccessAlignLog2(access))) continue;
    other.span->writes |= writes;
    ++other.span->accesses;
    spans_[&access] = other.span;
    return;
  }
  own.span =
      &all_.emplace_back(Span{.base = pointer, .high = bytes, .align_log2 = AccessAlignLog2(access), .writes = writes});
  spans_[&access] = own.span;
  if (open.size() < kMostOpen) open.push_back(std::move(own));
}

}  // namespace tutti::compiler
