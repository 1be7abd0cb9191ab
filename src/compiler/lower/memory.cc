// Loads and stores. A vector access is one access of an LLVM vector, so that widening sees its whole width.
#include "compiler/lower/families.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;

struct Order {
  bool is_volatile = false;
  llvm::AtomicOrdering atomic = llvm::AtomicOrdering::NotAtomic;
};

Order OrderOf(const Emitter& e) {
  if (e.Has(M::kRelaxed)) return {false, llvm::AtomicOrdering::Monotonic};
  if (e.Has(M::kAcquire)) return {false, llvm::AtomicOrdering::Acquire};
  if (e.Has(M::kRelease)) return {false, llvm::AtomicOrdering::Release};
  return {e.Has(M::kVolatile) || e.Has(M::kMmio), llvm::AtomicOrdering::NotAtomic};
}

// How the accessed vector of `count` elements looks in memory.
struct Shape {
  llvm::Type* element;
  uint32_t count;
  uint32_t bits() const { return static_cast<uint32_t>(element->getPrimitiveSizeInBits().getFixedValue()) * count; }
  llvm::Type* whole() const { return count == 1 ? element : llvm::FixedVectorType::get(element, count); }
  llvm::Align alignment() const { return llvm::Align(std::max(1u, bits() / 8)); }
};

bool ShapeOf(Emitter& e, size_t registers, Shape* shape) {
  shape->element = TypeOf(e.context(), e.type());
  shape->count = std::max<uint32_t>(e.instruction().vector, 1);
  if (shape->element == nullptr || e.type() == ptx::Type::kPred) {
    e.Invalid("memory holds no values of this type");
    return false;
  }
  if (shape->count != registers) {
    e.Invalid("the number of registers is not that of the vector");
    return false;
  }
  return llvm::isPowerOf2_32(shape->count);
}

// Atomic accesses are of scalars. What fits in 64 bits is accessed as one integer, as a GPU does: lock-free algorithms
// publish a flag and a value in one ld.relaxed.v2. What does not fit is a volatile vector access.
llvm::Type* AccessType(Emitter& e, const Shape& shape, Order* order) {
  if (order->atomic == llvm::AtomicOrdering::NotAtomic) return shape.whole();
  if (shape.bits() <= 64) return shape.count == 1 ? shape.element : e.ir.getIntNTy(shape.bits());
  *order = {.is_volatile = true};
  return shape.whole();
}

// Nothing writes these while a kernel runs.
bool IsInvariant(const Emitter& e, llvm::Value* pointer) {
  const unsigned space = pointer->getType()->getPointerAddressSpace();
  return space == kParamSpace || space == kConstSpace || e.Has(M::kNc);
}

}  // namespace

void EmitLd(Emitter& e) {
  const auto destinations = e.Elements(e.operand(0));
  Shape shape{};
  if (!ShapeOf(e, destinations.size(), &shape)) return;
  llvm::Value* pointer = e.Pointer(e.operand(1), e.instruction().space);
  Order order = OrderOf(e);
  llvm::Type* type = AccessType(e, shape, &order);
  llvm::LoadInst* load = e.ir.CreateAlignedLoad(type, pointer, shape.alignment(), order.is_volatile);
  if (order.atomic != llvm::AtomicOrdering::NotAtomic) {
    load->setAtomic(order.atomic);
  } else if (!order.is_volatile && IsInvariant(e, pointer)) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(e.context(), {}));
  }
  llvm::Value* value = load;
  if (shape.count == 1) return e.Write(*destinations[0], value, e.type());
  value = e.ir.CreateBitCast(value, shape.whole());
  for (uint32_t i = 0; i < shape.count; ++i) e.Write(*destinations[i], e.ir.CreateExtractElement(value, i), e.type());
}

void EmitSt(Emitter& e) {
  if (e.Has(M::kAsync) || e.Has(M::kBulk)) return e.Refuse("asynchronous stores are not supported");
  const auto sources = e.Elements(e.operand(1));
  Shape shape{};
  if (!ShapeOf(e, sources.size(), &shape)) return;
  llvm::Value* pointer = e.Pointer(e.operand(0), e.instruction().space);
  Order order = OrderOf(e);
  llvm::Type* type = AccessType(e, shape, &order);
  llvm::Value* value;
  if (shape.count == 1) {
    value = e.Read(*sources[0], e.type());
  } else {
    value = llvm::PoisonValue::get(shape.whole());
    for (uint32_t i = 0; i < shape.count; ++i)
      value = e.ir.CreateInsertElement(value, e.Read(*sources[i], e.type()), i);
    value = e.ir.CreateBitCast(value, type);
  }
  llvm::StoreInst* store = e.ir.CreateAlignedStore(value, pointer, shape.alignment(), order.is_volatile);
  if (order.atomic != llvm::AtomicOrdering::NotAtomic) store->setAtomic(order.atomic);
}

void EmitNothing(Emitter&) {}

// A cache policy is advice: any value will do.
void EmitCreatepolicy(Emitter& e) { e.Out(e.ir.getInt64(0), ptx::Type::kB64); }

}  // namespace tutti::compiler::lowering
