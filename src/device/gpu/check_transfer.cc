#include "device/gpu/check_transfer.h"

#include "base/checked.h"

namespace tutti::device::gpu {
namespace {

std::optional<Extent> ExtentOf(uint64_t address, uint64_t row_bytes, uint64_t rows, uint64_t pitch, uint64_t planes,
                               uint64_t plane) {
  if (row_bytes == 0 || rows == 0 || planes == 0) return Extent{.address = address};
  const auto to_last_row = CheckedMul(rows - 1, pitch), to_last_plane = CheckedMul(planes - 1, plane);
  if (!to_last_row || !to_last_plane) return std::nullopt;
  const auto sum = CheckedAdd(*to_last_row, *to_last_plane);
  const auto bytes = sum ? CheckedAdd(*sum, row_bytes) : std::nullopt;
  if (!bytes || !CheckedAdd(address, *bytes)) return std::nullopt;
  return Extent{.address = address, .bytes = *bytes};
}

}  // namespace

std::optional<Extent> DestinationOf(const wire::CopyBody& copy) {
  return ExtentOf(copy.destination, copy.row_bytes, copy.rows, copy.destination_pitch, copy.planes,
                  copy.destination_plane);
}

std::optional<Extent> SourceOf(const wire::CopyBody& copy) {
  return ExtentOf(copy.source, copy.row_bytes, copy.rows, copy.source_pitch, copy.planes, copy.source_plane);
}

std::optional<Extent> DestinationOf(const wire::FillBody& fill) {
  const auto row_bytes = CheckedMul<uint64_t>(fill.width, fill.element_bytes);
  if (!row_bytes) return std::nullopt;
  return ExtentOf(fill.destination, *row_bytes, fill.height, fill.pitch, 1, 0);
}

// Rows that all lie in one place may be more than there are bytes.
uint64_t BytesOf(const wire::CopyBody& copy) {
  const auto rows = CheckedMul(copy.rows, copy.planes);
  const auto bytes = rows ? CheckedMul(*rows, copy.row_bytes) : std::nullopt;
  return bytes.value_or(~0ull);
}

uint64_t BytesOf(const wire::FillBody& fill) {
  return CheckedMul(fill.width * fill.element_bytes, fill.height).value_or(~0ull);
}

uint64_t CallsFor(const wire::CopyBody& copy) {
  const bool overlaps =
      copy.rows != 1 && (copy.destination_pitch < copy.row_bytes || copy.source_pitch < copy.row_bytes);
  return overlaps ? CheckedMul(copy.rows, copy.planes).value_or(~0ull) : copy.planes;
}

uint64_t CallsFor(const wire::FillBody& fill) {
  const bool overlaps = fill.height != 1 && fill.pitch < fill.width * fill.element_bytes;
  const bool by_halves = fill.element_bytes == sizeof(uint64_t);
  return overlaps || by_halves ? CheckedMul<uint64_t>(fill.height, 2).value_or(~0ull) : 1;
}

}  // namespace tutti::device::gpu
