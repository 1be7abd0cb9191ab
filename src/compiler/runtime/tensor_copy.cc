// Copies by tensor maps (cp.async.bulk.tensor and its reductions): a box of a tensor in global memory from, or to,
// shared memory.
//
// A box is a list of rows: runs of elements that are neighbours in global memory, in the order in which they lie in
// shared memory. In tiled mode the rows are those of the box; in im2col mode each is a pixel with its channels; gather
// and scatter name four. What of a row is outside of the tensor is filled, or not stored.
//
// The map is the client's, and so is all that follows from it: it is copied before it is looked at, the box must lie in
// the shared memory of one block of the cluster, and each row is checked like any other access.
#include "compiler/runtime/legal_address.h"
#include "compiler/runtime/tensor_element.h"
#include "compiler/runtime/tensor_request.h"
#include "guest/tensor_map.h"

using namespace tutti::guest_runtime;
using tutti::guest::BytesOfTensorType;
using tutti::guest::FaultKind;
using tutti::guest::kMostDimensions;
using tutti::guest::kSlotShift;
using tutti::guest::SpanOfSwizzle;
using tutti::guest::TensorMap;
using tutti::guest::TensorMode;
using tutti::guest::TensorSwizzle;
using tutti::guest::WarpState;

namespace {

constexpr uint32_t kChunk = 16;  // what a swizzle moves
constexpr uint32_t kMostRowBytes = tutti::guest::kMostBoxElements * 8;
constexpr uint16_t kFillNan = 0x7ff7;  // repeated: a NaN of every type that may be filled with one

struct Caller {
  WarpState* warp;
  uint32_t lane, location;

  TUTTI_MEMBER void Fault(FaultKind kind, uint64_t address) const {
    warp->block->services->fault(warp, kind, lane, address, location);
  }
};

// The offset in shared memory where the 16 bytes lie that would lie at `offset` without a swizzle.
TUTTI_INLINE uint32_t Swizzled(TensorSwizzle swizzle, uint32_t offset) {
  switch (swizzle) {
    case TensorSwizzle::kNone: return offset;
    case TensorSwizzle::k32B: return offset ^ (offset >> 3 & 0x10);
    case TensorSwizzle::k64B: return offset ^ (offset >> 3 & 0x30);
    case TensorSwizzle::k128B: return offset ^ (offset >> 3 & 0x70);
    case TensorSwizzle::k128BAtom32B:
    case TensorSwizzle::k128BAtom32BFlip8B: return offset ^ (offset >> 2 & 0x60);
    case TensorSwizzle::k128BAtom64B: return offset ^ (offset >> 1 & 0x40);
  }
  return offset;
}

struct Chunk {
  uint64_t half[2];
};

// A row of the box in shared memory.
class SharedRow {
 public:
  TUTTI_MEMBER SharedRow(uint8_t* shared, uint32_t offset, uint32_t bytes, TensorSwizzle swizzle)
      : shared_(shared), offset_(offset), bytes_(bytes), swizzle_(swizzle) {}

  TUTTI_MEMBER void Write(const uint8_t* from) {
    if (swizzle_ == TensorSwizzle::kNone) return static_cast<void>(__builtin_memcpy(shared_ + offset_, from, bytes_));
    for (uint32_t i = 0; i < bytes_; i += kChunk) {
      Chunk chunk;
      __builtin_memcpy(&chunk, from + i, kChunk);
      Turn(i, &chunk);
      __builtin_memcpy(shared_ + Swizzled(swizzle_, offset_ + i), &chunk, kChunk);
    }
  }
  TUTTI_MEMBER void Read(uint8_t* to) {
    for (uint32_t i = 0; i < bytes_; i += kChunk) {
      Chunk chunk;
      __builtin_memcpy(&chunk, shared_ + Swizzled(swizzle_, offset_ + i), kChunk);
      Turn(i, &chunk);
      __builtin_memcpy(to + i, &chunk, kChunk);
    }
  }

 private:
  TUTTI_MEMBER void Turn(uint32_t i, Chunk* chunk) const {
    if (swizzle_ != TensorSwizzle::k128BAtom32BFlip8B || ((offset_ + i) >> 7 & 1) == 0) return;
    const uint64_t low = chunk->half[0];
    chunk->half[0] = chunk->half[1];
    chunk->half[1] = low;
  }

  uint8_t* shared_;
  uint32_t offset_, bytes_;
  TensorSwizzle swizzle_;
};

// Walks over the rows: the coordinates of the next one's first element.
class Walk {
 public:
  TUTTI_MEMBER Walk(const TensorMap& map, TensorAccess access, const int32_t* coordinates, const int32_t* offsets)
      : map_(map), access_(access), start_(coordinates), offsets_(offsets) {
    for (uint32_t i = 0; i < kMostDimensions; ++i) {
      at_[i] = i < map.rank ? coordinates[i] : 0;
      step_[i] = 0;
    }
  }

  // Rows of the box, or 0 if it has more than `most`.
  TUTTI_MEMBER uint64_t Rows(uint64_t most) const {
    if (access_ == TensorAccess::kRows4) return 4;
    if (access_ == TensorAccess::kIm2col) return map_.pixels;
    uint64_t rows = 1;
    for (uint32_t i = 1; i < map_.rank; ++i) {
      rows *= Steps(i);
      if (rows > most) return 0;
    }
    return rows;
  }

  TUTTI_MEMBER int64_t Coordinate(uint32_t dimension) const {
    if (access_ == TensorAccess::kRows4) return dimension == 0 ? start_[0] : start_[1 + step_[1]];
    const bool moves = access_ == TensorAccess::kIm2col && dimension > 0 && dimension + 1 < map_.rank;
    return at_[dimension] + (moves ? offsets_[dimension - 1] : 0);
  }

  TUTTI_MEMBER void Next() {
    if (access_ == TensorAccess::kRows4) return static_cast<void>(++step_[1]);
    for (uint32_t i = 1; i < map_.rank; ++i) {
      at_[i] += map_.element_strides[i];
      if (access_ == TensorAccess::kIm2col) {
        if (i + 1 == map_.rank || at_[i] < End(i)) return;
        at_[i] = map_.lower[i - 1];
      } else {
        if (++step_[i] < Steps(i)) return;
        step_[i] = 0;
        at_[i] = start_[i];
      }
    }
  }

 private:
  TUTTI_MEMBER uint32_t Steps(uint32_t dimension) const {
    return (map_.box[dimension] + map_.element_strides[dimension] - 1u) / map_.element_strides[dimension];
  }
  // Behind the bounding box.
  TUTTI_MEMBER int64_t End(uint32_t dimension) const {
    return static_cast<int64_t>(SizeOfDimension(map_, dimension)) + map_.upper[dimension - 1];
  }

  const TensorMap& map_;
  TensorAccess access_;
  const int32_t* start_;
  const int32_t* offsets_;
  int64_t at_[kMostDimensions];
  uint32_t step_[kMostDimensions];
};

// Elements [first, end) of a row are inside of the tensor, and lie at `address`.
struct Inside {
  uint32_t first, end;
  uint64_t address;
};

TUTTI_INLINE Inside InsideOf(const TensorMap& map, const Walk& walk, uint32_t elements) {
  uint64_t address = map.address;
  for (uint32_t i = 1; i < map.rank; ++i) {
    const int64_t at = walk.Coordinate(i);
    if (at < 0 || static_cast<uint64_t>(at) >= SizeOfDimension(map, i)) return {0, 0, 0};
    address += static_cast<uint64_t>(at) * map.strides[i - 1];
  }
  const int64_t at = walk.Coordinate(0), size = static_cast<int64_t>(SizeOfDimension(map, 0));
  const int64_t first = at < 0 ? -at : 0, end = size - at < elements ? size - at : elements;
  if (first >= end) return {0, 0, 0};
  address += static_cast<uint64_t>(at + first) * BytesOfTensorType(map.type);
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(end), address};
}

TUTTI_INLINE void Fill(const TensorMap& map, uint8_t* row, uint32_t bytes) {
  const uint16_t value = map.fills_with_nan != 0 ? kFillNan : 0;
  for (uint32_t i = 0; i < bytes; i += sizeof value) __builtin_memcpy(row + i, &value, sizeof value);
}

// Shared memory of a block of the cluster, and where in it an address lies. No bytes: the cluster has no such block.
struct Window {
  uint8_t* start;
  uint32_t offset, bytes;
};

TUTTI_INLINE Window WindowAt(const tutti::guest::BlockState* block, uint32_t shared) {
  const uint32_t slot = shared >> kSlotShift;
  return {block->shared + (uint64_t{slot} << kSlotShift), shared & ((1u << kSlotShift) - 1),
          slot <= block->cluster_slots ? block->shared_bytes : 0};
}

// The bytes of the box; it ends the kernel if the copy is not possible.
uint32_t CopyBox(const Caller& caller, const TensorMap& map, uint32_t request, uint32_t shared,
                 const int32_t* coordinates, const int32_t* offsets) {
  const TensorAction action = ActionOf(request);
  const TensorAccess access = AccessOf(request);
  const bool loads = action == TensorAction::kLoad, is_tile = map.mode == static_cast<uint8_t>(TensorMode::kTile);
  const bool fits = access == TensorAccess::kRows4 ? map.rank == 2 : map.rank == DimensionsOf(request);
  if (!IsValid(map) || !fits || is_tile != (access != TensorAccess::kIm2col) ||
      (action > TensorAction::kStore && !IsReducible(action, map.type))) {
    caller.Fault(FaultKind::kIllegalInstruction, 0);
    return 0;
  }
  const auto swizzle = static_cast<TensorSwizzle>(map.swizzle);
  const uint32_t elements = is_tile ? map.box[0] : map.channels, element_bytes = BytesOfTensorType(map.type);
  const uint32_t bytes = elements * element_bytes, span = SpanOfSwizzle(map.swizzle);
  const uint32_t pitch = span == 0 ? bytes : span;

  Walk walk(map, access, coordinates, offsets);
  const tutti::guest::BlockState* block = caller.warp->block;
  const uint64_t rows = walk.Rows(block->shared_bytes);
  const Window window = WindowAt(block, shared);
  if (rows == 0 || !Within(window.offset, rows * pitch, 0, window.bytes)) {
    caller.Fault(FaultKind::kIllegalAddress, reinterpret_cast<uint64_t>(block->shared) + shared);
    return 0;
  }
  if (shared % tutti::guest::kTileAlignment != 0) {
    caller.Fault(FaultKind::kMisalignedAddress, reinterpret_cast<uint64_t>(block->shared) + shared);
    return 0;
  }
  for (uint64_t r = 0; r < rows; ++r, walk.Next()) {
    SharedRow row(window.start, window.offset + static_cast<uint32_t>(r) * pitch, bytes, swizzle);
    const Inside inside = InsideOf(map, walk, elements);
    const uint32_t first = inside.first * element_bytes, length = (inside.end - inside.first) * element_bytes;
    if (length != 0)
      Check(caller.warp, caller.lane, inside.address, length, caller.location, kWindow | (loads ? 0u : kWrites), 0);
    auto* global = reinterpret_cast<uint8_t*>(inside.address);
    if (loads && length == bytes) {
      row.Write(global);
      continue;
    }
    uint8_t values[kMostRowBytes];
    if (loads) {
      Fill(map, values, bytes);
      if (length != 0) __builtin_memcpy(values + first, global, length);
      row.Write(values);
    } else if (length != 0) {
      row.Read(values);
      if (action == TensorAction::kStore) {
        __builtin_memcpy(global, values + first, length);
      } else {
        ReduceElements(action, map.type, global, values + first, length);
      }
    }
  }
  return static_cast<uint32_t>(rows) * bytes;
}

// The map at an address of any of the thread's memories. Parameters are aligned within their buffer.
TUTTI_INLINE TensorMap MapAt(const Caller& caller, uint64_t address, uint64_t param_bytes) {
  Check(caller.warp, caller.lane, address, sizeof(TensorMap), caller.location, kWindow | kShared | kLocal | kParams,
        param_bytes);
  const auto params = reinterpret_cast<uint64_t>(caller.warp->block->params);
  const uint64_t offset = Within(address, sizeof(TensorMap), params, param_bytes) ? address - params : address;
  if (offset % tutti::guest::kTensorMapAlignment != 0) caller.Fault(FaultKind::kMisalignedAddress, address);
  TensorMap map;
  __builtin_memcpy(&map, reinterpret_cast<const void*>(address), sizeof map);
  return map;
}

}  // namespace

// For each lane of `mask`, what `request` (tensor_request.h) says with its operands.
TUTTI_EXPORT void tutti_tensor_copy(WarpState* warp, uint32_t mask, uint32_t location, uint32_t param_bytes,
                                    uint32_t request, TensorOperands* operands) {
  ForEachLane(mask, [&](uint32_t lane) {
    const Caller caller{warp, lane, location};
    const TensorMap map = MapAt(caller, operands->map[lane], param_bytes);
    int32_t coordinates[kMostDimensions], offsets[3];
    for (uint32_t i = 0; i < kMostDimensions; ++i) coordinates[i] = operands->coordinates[i][lane];
    for (uint32_t i = 0; i < 3; ++i) offsets[i] = operands->offsets[i][lane];
    operands->bytes[lane] = CopyBox(caller, map, request, operands->shared[lane], coordinates, offsets);
  });
}
