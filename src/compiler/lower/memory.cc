// Loads and stores. A vector access is one access of an LLVM vector, so that widening sees its whole width.
//
// Volatile, relaxed and stronger accesses must not tear. The ISA promises single-copy atomicity per element; GPUs move
// an aligned vector as a whole, and programs rely on it: a decoupled look-back scan publishes a value and its state in
// one st.relaxed.v2.u64. So such a vector of up to 64 bits is accessed as one integer, and wider ones as volatile
// vectors of 128 bits, which widening keeps whole (widen/memory/memory.h) and which are one move of the processor.
#include "compiler/lower/families.h"
#include "compiler/lower/mbarrier_word.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;

constexpr uint32_t kWidestBits = 128;  // of an access that must not tear

struct Order {
  bool is_volatile = false;
  llvm::AtomicOrdering atomic = llvm::AtomicOrdering::NotAtomic;
};

Order OrderOf(const Emitter& e) {
  if (e.Has(M::kRelaxed)) return {false, llvm::AtomicOrdering::Monotonic};
  if (e.Has(M::kAcquire)) return {false, llvm::AtomicOrdering::Acquire};
  if (e.Has(M::kRelease)) return {false, llvm::AtomicOrdering::Release};
  // .cv must fetch again what others may have written.
  return {e.Has(M::kVolatile) || e.Has(M::kMmio) || e.Has(M::kCv), llvm::AtomicOrdering::NotAtomic};
}

// The memory type of an access to `count` elements.
struct AccessType {
  llvm::Type* element;
  uint32_t count;
  uint32_t bits() const { return static_cast<uint32_t>(element->getPrimitiveSizeInBits().getFixedValue()) * count; }
  llvm::Type* whole() const { return count == 1 ? element : llvm::FixedVectorType::get(element, count); }
  llvm::Align alignment() const { return llvm::Align(std::max(1u, bits() / 8)); }
};

bool AccessTypeOf(Emitter& e, size_t registers, AccessType* access) {
  access->element = TypeOf(e.context(), e.type());
  access->count = std::max<uint32_t>(e.instruction().vector, 1);
  if (access->element == nullptr || e.type() == ptx::Type::kPred) {
    e.Invalid("memory holds no values of this type");
    return false;
  }
  if (access->count != registers) {
    e.Invalid("the number of registers is not that of the vector");
    return false;
  }
  if (access->bits() > 2 * kWidestBits) {
    e.Invalid("no access is that wide");
    return false;
  }
  return llvm::isPowerOf2_32(access->count);
}

// How an access is split: into `count` consecutive accesses of `type`.
struct Pieces {
  llvm::Type* type;
  uint32_t count = 1;
};

Pieces PiecesOf(Emitter& e, const AccessType& access, Order* order) {
  const bool is_atomic = order->atomic != llvm::AtomicOrdering::NotAtomic;
  if (access.element->isIntegerTy(kWidestBits)) {  // widened, two words are better than one that no register holds
    if (is_atomic) *order = {.is_volatile = true};
    return {llvm::FixedVectorType::get(e.ir.getInt64Ty(), 2)};
  }
  if (access.count == 1 || (!is_atomic && !order->is_volatile)) return {access.whole()};
  if (access.bits() <= 64) return {e.ir.getIntNTy(access.bits())};
  *order = {.is_volatile = true};  // LLVM has no atomic accesses of vectors
  if (access.bits() <= kWidestBits) return {access.whole()};
  const uint32_t count = access.bits() / kWidestBits;
  return {llvm::FixedVectorType::get(access.element, access.count / count), count};
}

// An ordered access that became a volatile one still needs compiler ordering; the processor orders its accesses by
// itself.
void OrderInThread(Emitter& e, llvm::AtomicOrdering order) { e.ir.CreateFence(order, llvm::SyncScope::SingleThread); }

llvm::Value* PieceAt(Emitter& e, llvm::Value* pointer, uint32_t piece) {
  return piece == 0 ? pointer : e.ir.CreateConstGEP1_64(e.ir.getInt8Ty(), pointer, piece * kWidestBits / 8);
}

// Nothing writes this memory while a kernel runs.
bool IsInvariant(const Emitter& e, llvm::Value* pointer) {
  const unsigned space = pointer->getType()->getPointerAddressSpace();
  return space == kParamSpace || space == kConstSpace || e.Has(M::kNc);
}

}  // namespace

void EmitLd(Emitter& e) {
  const auto destinations = e.Elements(e.operand(0));
  AccessType access{};
  if (!AccessTypeOf(e, destinations.size(), &access)) return;
  llvm::Value* pointer = e.Pointer(e.operand(1), e.instruction().space);
  Order order = OrderOf(e);
  const llvm::AtomicOrdering wanted = order.atomic;
  const Pieces pieces = PiecesOf(e, access, &order);
  const uint32_t in_piece = access.count / pieces.count;
  llvm::Type* vector = in_piece == 1 ? access.element : llvm::FixedVectorType::get(access.element, in_piece);
  for (uint32_t p = 0; p < pieces.count; ++p) {
    llvm::LoadInst* load =
        e.ir.CreateAlignedLoad(pieces.type, PieceAt(e, pointer, p),
                               p == 0 ? access.alignment() : llvm::Align(kWidestBits / 8), order.is_volatile);
    if (order.atomic != llvm::AtomicOrdering::NotAtomic) {
      load->setAtomic(order.atomic);
    } else if (!order.is_volatile && IsInvariant(e, pointer)) {
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(e.context(), {}));
    }
    llvm::Value* value = e.ir.CreateBitCast(load, vector);
    for (uint32_t i = 0; i < in_piece; ++i) {
      llvm::Value* element = in_piece == 1 ? value : e.ir.CreateExtractElement(value, i);
      e.Write(*destinations[p * in_piece + i], element, e.type());
    }
  }
  if (wanted == llvm::AtomicOrdering::Acquire && order.is_volatile) OrderInThread(e, wanted);
}

void EmitSt(Emitter& e) {
  if (e.Has(M::kBulk)) return EmitStBulk(e);
  const auto sources = e.Elements(e.operand(1));
  AccessType access{};
  if (!AccessTypeOf(e, sources.size(), &access)) return;
  llvm::Value* pointer = e.Pointer(e.operand(0), e.instruction().space);
  Order order = OrderOf(e);
  const llvm::AtomicOrdering wanted = order.atomic;
  const Pieces pieces = PiecesOf(e, access, &order);
  if (wanted == llvm::AtomicOrdering::Release && order.is_volatile) OrderInThread(e, wanted);
  const uint32_t in_piece = access.count / pieces.count;
  for (uint32_t p = 0; p < pieces.count; ++p) {
    llvm::Value* value = in_piece == 1 ? e.Read(*sources[p], e.type())
                                       : llvm::PoisonValue::get(llvm::FixedVectorType::get(access.element, in_piece));
    for (uint32_t i = 0; in_piece != 1 && i < in_piece; ++i) {
      value = e.ir.CreateInsertElement(value, e.Read(*sources[p * in_piece + i], e.type()), i);
    }
    llvm::StoreInst* store =
        e.ir.CreateAlignedStore(e.ir.CreateBitCast(value, pieces.type), PieceAt(e, pointer, p),
                                p == 0 ? access.alignment() : llvm::Align(kWidestBits / 8), order.is_volatile);
    if (order.atomic != llvm::AtomicOrdering::NotAtomic) store->setAtomic(order.atomic);
  }
  if (e.Has(M::kAsync)) CompleteBytes(e, 2, access.bits() / 8);
}

void EmitNothing(Emitter&) {}

// Addresses of several devices' memory at once come from multicast objects, of which this device has none: no address
// is one. Libraries that ask for multicast before they use it have such instructions beside others.
void EmitMultimem(Emitter& e) { e.Fault(guest::FaultKind::kInvalidAddressSpace); }

// A cache policy is advice: any value will do.
void EmitCreatepolicy(Emitter& e) { e.Out(e.ir.getInt64(0), ptx::Type::kB64); }

}  // namespace tutti::compiler::lowering
