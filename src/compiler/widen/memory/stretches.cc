#include "compiler/widen/memory/stretches.h"

#include <bit>

#include "compiler/widen/emit/function_emitter.h"
#include "compiler/widen/memory/pieces.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

// For each component, up to 16 bytes a lane, and for 64-bit elements twice as much: so far apart that a register of 64
// bytes, which costs a load and a shuffle or two, has four lanes' elements. Gathers take longer.
constexpr uint64_t kMostBytes = 512, kMostBytesOfLong = 1024;
constexpr uint64_t kRegisterBytes = 64;
constexpr int64_t kFar = 1 << 16;  // above what any access may cover

// The vectors that a stretch is loaded as. They are of one length, so the last may begin in the one before.
struct Vectors {
  Vectors(unsigned elements, uint64_t element_bytes)
      : length(std::bit_floor(
            std::min(elements, std::max(kLanes, static_cast<unsigned>(kRegisterBytes / element_bytes))))),
        count((elements + length - 1) / length),
        all(elements) {}

  unsigned First(unsigned vector) const { return vector + 1 == count ? all - length : vector * length; }
  // Of the vectors laid end to end, the element that is `element` of the stretch.
  unsigned Index(unsigned element) const {
    const unsigned vector = std::min(element / length, count - 1);
    return vector * length + element - First(vector);
  }

  unsigned length, count, all;
};

}  // namespace

llvm::SmallVector<Stretch, 4> FindStretches(const Shape& address, unsigned components, uint64_t element_bytes,
                                            uint64_t multiple) {
  llvm::SmallVector<Stretch, 4> stretches;
  if (!address.is_runs() || address.run() < 8) return stretches;
  const uint64_t most = components * (element_bytes == 8 ? kMostBytesOfLong : kMostBytes);
  const auto step = static_cast<int64_t>(element_bytes);
  uint64_t bytes = 0;
  for (unsigned first = 0; first < kLanes; first += address.run()) {
    int64_t low = 0, high = 0;  // from the first lane on
    for (unsigned lane = first; lane < first + address.run(); ++lane) {
      const int64_t distance = Difference(address.offset(lane), address.offset(first));
      if (distance <= -kFar || distance >= kFar || distance % step != 0 ||
          distance % static_cast<int64_t>(multiple) != 0)
        return {};
      low = std::min(low, distance);
      high = std::max(high, distance);
    }
    const auto elements = static_cast<unsigned>((high - low) / step) + components;
    bytes += elements * element_bytes;
    stretches.push_back({Difference(address.offset(first), -low), elements});
  }
  if (bytes > most) stretches.clear();
  return stretches;
}

llvm::SmallVector<Value*, 4> LoadStretches(FunctionEmitter& emitter, const Shape& address,
                                           llvm::ArrayRef<Stretch> stretches, llvm::ArrayRef<Value*> addresses,
                                           llvm::Type* element, unsigned components) {
  llvm::IRBuilder<>& builder = emitter.builder();
  const int64_t step = static_cast<int64_t>(element->getPrimitiveSizeInBits().getFixedValue() / 8);
  llvm::SmallVector<llvm::SmallVector<Value*, 4>, 4> parts(components);  // by component, by run
  for (unsigned r = 0; r < stretches.size(); ++r) {
    const Vectors vectors(stretches[r].elements, static_cast<uint64_t>(step));
    llvm::Type* type = llvm::FixedVectorType::get(element, vectors.length);
    llvm::SmallVector<Value*, 16> memory;
    for (unsigned v = 0; v < vectors.count; ++v) {
      Value* at = builder.CreateAdd(addresses[r], builder.getInt64(vectors.First(v) * static_cast<uint64_t>(step)));
      memory.push_back(builder.CreateAlignedLoad(type, builder.CreateIntToPtr(at, builder.getPtrTy()), llvm::Align(1)));
    }
    for (unsigned c = 0; c < components; ++c) {
      parts[c].push_back(Pick(builder, memory, address.run(), [&](unsigned lane) {
        const int64_t distance = Difference(address.offset(r * address.run() + lane), stretches[r].low);
        return vectors.Index(static_cast<unsigned>(distance / step) + c);
      }));
    }
  }
  llvm::SmallVector<Value*, 4> whole;
  for (auto& by_run : parts) whole.push_back(Concatenated(builder, by_run));
  return whole;
}

}  // namespace tutti::compiler
