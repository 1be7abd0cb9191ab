// Tensor maps: copies and reductions of boxes, element by element, and tensormap.replace.
//
// The ISA leaves the 1024 bits of a map to the implementation: they are those of guest/tensor_map.h, so that maps that
// the host made can be interpreted. What a box is, and where its elements lie, is written here from the ISA (5.5).
#include <algorithm>
#include <cstring>

#include "guest/tensor_map.h"
#include "interpreter/families.h"

namespace tutti::interpreter {
namespace {

using guest::TensorMap;
using guest::TensorSwizzle;

constexpr int kIllegalInstruction = 715;

// Where in memory the byte lies whose place is `at`: the pattern is one of 16-byte (or larger) pieces and rows of 128.
uint64_t PlaceOf(TensorSwizzle swizzle, uint64_t at) {
  const uint64_t row = at / 128;
  uint64_t within = at % 128;
  const auto exchange = [&](uint64_t piece, uint64_t rows) {
    within = ((within / piece) ^ (row % rows)) * piece + within % piece;
  };
  switch (swizzle) {
    case TensorSwizzle::kNone: break;
    case TensorSwizzle::k32B: exchange(16, 2); break;
    case TensorSwizzle::k64B: exchange(16, 4); break;
    case TensorSwizzle::k128B: exchange(16, 8); break;
    case TensorSwizzle::k128BAtom32B: exchange(32, 4); break;
    case TensorSwizzle::k128BAtom32BFlip8B:
      exchange(32, 4);
      if (row % 2 == 1) within ^= 8;
      break;
    case TensorSwizzle::k128BAtom64B: exchange(64, 2); break;
  }
  return row * 128 + within;
}

std::vector<int64_t> Numbers(Step& step, const Operand& vector, Type type) {
  std::vector<int64_t> numbers;
  for (const Operand& element : step.Elements(vector)) {
    const uint64_t bits = step.Get(element, type);
    numbers.push_back(type == Type::kS32 ? SignExtend(bits, 32) : static_cast<int64_t>(bits));
  }
  return numbers;
}

Type TypeOfElement(const TensorMap& map) {
  static constexpr Type kTypes[] = {Type::kU8,  Type::kU16, Type::kU32,  Type::kS32, Type::kU64, Type::kS64, Type::kF16,
                                    Type::kF32, Type::kF64, Type::kBF16, Type::kF32, Type::kF32, Type::kF32};
  return kTypes[map.type];
}

struct Box {
  const TensorMap& map;
  std::vector<int64_t> start, offsets;
  bool gathers = false;  // or scatters

  bool is_im2col() const { return map.mode == static_cast<uint8_t>(guest::TensorMode::kIm2col); }
  uint64_t columns() const { return is_im2col() ? map.channels : map.box[0]; }
  uint64_t Along(uint32_t dimension) const {
    return (map.box[dimension] + map.element_strides[dimension] - 1u) / map.element_strides[dimension];
  }
  uint64_t rows() const {
    if (gathers) return 4;
    if (is_im2col()) return map.pixels;
    uint64_t rows = 1;
    for (uint32_t i = 1; i < map.rank; ++i) rows *= Along(i);
    return rows;
  }

  // Coordinates of the first element of a row.
  std::vector<int64_t> RowAt(uint64_t row) const {
    std::vector<int64_t> at = start;
    if (gathers) return {start[0], start[1 + row]};
    if (!is_im2col()) {
      for (uint32_t i = 1; i < map.rank; ++i) {
        at[i] += static_cast<int64_t>(row % Along(i)) * map.element_strides[i];
        row /= Along(i);
      }
      return at;
    }
    // From the base on, pixel by pixel: W first, within the corners of the bounding box; the offsets come on top.
    for (uint64_t pixel = 0; pixel < row; ++pixel) {
      uint32_t i = 1;
      for (; i + 1 < map.rank; ++i) {
        at[i] += map.element_strides[i];
        const int64_t last = static_cast<int64_t>(SizeOfDimension(map, i)) - 1 + map.upper[i - 1];
        if (at[i] <= last) break;
        at[i] = map.lower[i - 1];
      }
      if (i + 1 == map.rank) at[i] += map.element_strides[i];
    }
    for (uint32_t i = 0; i < offsets.size(); ++i) at[1 + i] += offsets[i];
    return at;
  }
};

bool IsInside(const TensorMap& map, const std::vector<int64_t>& at) {
  for (uint32_t i = 0; i < map.rank; ++i) {
    if (at[i] < 0 || static_cast<uint64_t>(at[i]) >= SizeOfDimension(map, i)) return false;
  }
  return true;
}

uint64_t AddressOf(const TensorMap& map, const std::vector<int64_t>& at) {
  uint64_t address = map.address + static_cast<uint64_t>(at[0]) * guest::BytesOfTensorType(map.type);
  for (uint32_t i = 1; i < map.rank; ++i) address += static_cast<uint64_t>(at[i]) * map.strides[i - 1];
  return address;
}

// Copies, fills or reduces the box; its bytes. `shared` is where it begins in shared memory.
uint64_t CopyBox(Step& step, const Box& box, uint64_t shared, bool loads) {
  const TensorMap& map = box.map;
  const uint64_t bytes = guest::BytesOfTensorType(map.type), row_bytes = box.columns() * bytes;
  const uint64_t pitch = std::max<uint64_t>(guest::SpanOfSwizzle(map.swizzle), row_bytes);
  const bool reduces = step.Has(Modifier::kReduce);
  if (step.Locate(StateSpace::kShared, shared, box.rows() * pitch, guest::kTileAlignment) == nullptr) return 0;
  for (uint64_t row = 0; row < box.rows(); ++row) {
    std::vector<int64_t> at = box.RowAt(row);
    for (uint64_t column = 0; column < box.columns(); ++column, ++at[0]) {
      const uint64_t place = PlaceOf(static_cast<TensorSwizzle>(map.swizzle), shared + row * pitch + column * bytes);
      uint8_t* in_box = step.Locate(StateSpace::kShared, place, bytes, bytes);
      if (in_box == nullptr) return 0;
      if (!IsInside(map, at)) {
        for (uint64_t i = 0; loads && i < bytes; ++i)
          in_box[i] = map.fills_with_nan == 0 ? 0 : i % 2 == 0 ? 0xf7 : 0x7f;
        continue;
      }
      uint8_t* in_tensor = step.Locate(StateSpace::kGlobal, AddressOf(map, at), bytes, bytes);
      if (in_tensor == nullptr) return 0;
      if (loads) {
        std::memcpy(in_box, in_tensor, bytes);
      } else if (!reduces) {
        std::memcpy(in_tensor, in_box, bytes);
      } else {
        uint64_t old = 0, value = 0;
        std::memcpy(&old, in_tensor, bytes);
        std::memcpy(&value, in_box, bytes);
        const uint64_t result = UpdatedBy(step, TypeOfElement(map), old, value);
        std::memcpy(in_tensor, &result, bytes);
      }
    }
  }
  return box.rows() * row_bytes;
}

}  // namespace

// cp{.reduce}.async.bulk.tensor, executed at once like all copies.
void CopyTensor(Step& step) {
  step.Accept({Modifier::kBulk, Modifier::kBulkGroup, Modifier::kTile, Modifier::kL2});
  const bool im2col = step.Has(Modifier::kIm2col) || step.Has(Modifier::kIm2colNoOffs);
  const bool gathers = step.Has(Modifier::kTileGather4) || step.Has(Modifier::kTileScatter4);
  static constexpr Modifier kDimensions[] = {Modifier::k1D, Modifier::k2D, Modifier::k3D, Modifier::k4D, Modifier::k5D};
  uint32_t dimensions = 0;
  for (uint32_t i = 0; i < 5; ++i) {
    if (step.Has(kDimensions[i])) dimensions = i + 1;
  }
  if (step.Has(Modifier::kPrefetch)) return;
  const bool loads = step.in.space != StateSpace::kGlobal;
  const size_t named = loads ? 1 : 0;
  const Operand &operand = step.in.operands[named], &place = step.in.operands[loads ? 0 : 2];
  const StateSpace space = operand.base == ptx::BaseKind::kRegister ? StateSpace::kGeneric : step.SpaceOf(operand);
  const uint8_t* bytes =
      step.Locate(space, step.Address(operand), sizeof(TensorMap), guest::kTensorMapAlignment, &operand);
  if (bytes == nullptr) return;
  TensorMap map;
  std::memcpy(&map, bytes, sizeof map);
  const bool is_im2col = map.mode == static_cast<uint8_t>(guest::TensorMode::kIm2col);
  if (!guest::IsValid(map) || map.rank != (gathers ? 2 : dimensions) || is_im2col != im2col)
    return step.Fault(kIllegalInstruction, "a tensor map that does not fit the instruction");
  const Box box{map, Numbers(step, step.in.operands[named + 1], Type::kS32),
                loads && im2col ? Numbers(step, step.in.operands[4], Type::kU16) : std::vector<int64_t>(), gathers};
  if (loads && step.Has(Modifier::kMulticastCluster)) {
    step.Accept({Modifier::kMbarrierCompleteTxBytes});
    const uint64_t blocks = step.Get(im2col ? 5 : 4, Type::kU16);
    for (uint64_t rank = 0; rank < step.blocks() && !step.stopped(); ++rank) {
      if ((blocks >> rank & 1) == 0) continue;
      const uint64_t copied = CopyBox(step, box, step.PlaceInBlock(step.Address(place), rank), loads);
      if (!step.stopped())
        CompleteBytesAt(step, StateSpace::kShared, step.PlaceInBlock(step.Address(step.in.operands[3]), rank), copied);
    }
    return;
  }
  const uint64_t copied = CopyBox(step, box, step.Address(place) & 0xffffffff, loads);
  if (!step.stopped() && step.Has(Modifier::kMbarrierCompleteTxBytes)) CompleteBytes(step, step.in.operands[3], copied);
}

// tensormap.replace.tile.field [map], {dimension,} value, and tensormap.cp_fenceproxy [to], [from], bytes.
void ChangeTensorMap(Step& step) {
  const Operand& target = step.in.operands[0];
  step.Accept({Modifier::kTile, Modifier::kB1024});
  uint8_t* to =
      step.Locate(step.SpaceOf(target), step.Address(target), sizeof(TensorMap), guest::kTensorMapAlignment, &target);
  if (to == nullptr) return;
  if (step.Has(Modifier::kCpFenceproxy)) {
    step.Accept({Modifier::kTensormapGeneric, Modifier::kRelease, Modifier::kCta, Modifier::kCluster, Modifier::kGpu,
                 Modifier::kSys, Modifier::kSync, Modifier::kAligned});
    const Operand& source = step.in.operands[1];
    const uint8_t* from = step.Locate(step.in.second_space, step.Address(source), sizeof(TensorMap), 16, &source);
    if (from != nullptr) std::memmove(to, from, sizeof(TensorMap));
    return;
  }
  if (!step.Has(Modifier::kReplace)) return step.Refuse("this operation on tensor maps");
  TensorMap map;
  std::memcpy(&map, to, sizeof map);
  map.magic = guest::kTensorMapMagic;
  const size_t last = step.count() - 1;
  const uint64_t ordinal = last == 2 ? step.Get(1, Type::kU32) : 0;
  const uint64_t wide = step.Get(last, step.last_type());
  const auto value = static_cast<uint32_t>(wide);
  if (ordinal >= guest::kMostDimensions) return step.Refuse("a dimension that no tensor has");
  if (step.Has(Modifier::kGlobalAddress)) map.address = wide;
  if (step.Has(Modifier::kRank)) map.rank = static_cast<uint8_t>(value + 1);
  if (step.Has(Modifier::kBoxDim)) map.box[ordinal] = static_cast<uint16_t>(value);
  if (step.Has(Modifier::kGlobalDim)) map.sizes[ordinal] = value;
  if (step.Has(Modifier::kGlobalStride)) map.strides[std::min<uint64_t>(ordinal, 3)] = wide;
  if (step.Has(Modifier::kElementStride)) map.element_strides[ordinal] = static_cast<uint8_t>(value);
  if (step.Has(Modifier::kInterleaveLayout)) map.interleave = static_cast<uint8_t>(value);
  if (step.Has(Modifier::kSwizzleMode)) map.swizzle = value > 3 ? 0xff : static_cast<uint8_t>(value);
  if (step.Has(Modifier::kFillMode)) map.fills_with_nan = static_cast<uint8_t>(value);
  if (step.Has(Modifier::kElemtype)) {
    // In the ISA's order: .f32.ftz, .f64 and .bf16 stand elsewhere.
    static constexpr uint8_t kTypes[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12};
    if (value >= std::size(kTypes)) return step.Refuse("an element type");
    map.type = kTypes[value];
  }
  std::memcpy(to, &map, sizeof map);
}

}  // namespace tutti::interpreter
