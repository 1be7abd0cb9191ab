#include "device/cpu/memory/transfer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/checked.h"
#include "base/store_once.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kPieceBytes = 256 << 10;  // about 20 us of work

// Whether rows x planes of row_bytes at these pitches lie in the window.
bool LiesIn(uint64_t address, uint64_t row_bytes, uint64_t rows, uint64_t pitch, uint64_t planes, uint64_t plane,
            uint64_t window_base, uint64_t window_bytes) {
  const auto row_span = CheckedMul<uint64_t>(rows - 1, pitch);
  const auto plane_span = CheckedMul<uint64_t>(planes - 1, plane);
  if (!row_span || !plane_span) return false;
  const auto spans = CheckedAdd<uint64_t>(*row_span, *plane_span);
  const auto extent = spans ? CheckedAdd<uint64_t>(*spans, row_bytes) : std::nullopt;
  return extent && address >= window_base && InRange<uint64_t>(address - window_base, *extent, window_bytes);
}

}  // namespace

bool Transfer::SetCopy(const wire::CopyBody& copy, uint64_t window_base, uint64_t window_bytes, uint64_t* bad) {
  copy_ = copy;
  is_fill_ = false;
  window_fd_ = -1;
  row_bytes_ = copy.row_bytes;
  pieces_ = 0;
  rows_ = 0;
  if (copy.row_bytes == 0 || copy.rows == 0 || copy.planes == 0) return true;
  *bad = copy.destination;
  const auto all_rows = CheckedMul<uint64_t>(copy.rows, copy.planes);
  if (!all_rows || !CheckedMul<uint64_t>(*all_rows, row_bytes_)) return false;
  if (!LiesIn(copy.destination, copy.row_bytes, copy.rows, copy.destination_pitch, copy.planes, copy.destination_plane,
              window_base, window_bytes)) {
    return false;
  }
  *bad = copy.source;
  if (!LiesIn(copy.source, copy.row_bytes, copy.rows, copy.source_pitch, copy.planes, copy.source_plane, window_base,
              window_bytes)) {
    return false;
  }
  rows_ = *all_rows;
  Cut();
  return true;
}

bool Transfer::SetFill(const wire::FillBody& fill, uint64_t window_base, uint64_t window_bytes, uint64_t* bad) {
  *bad = fill.destination;
  copy_ = wire::CopyBody{.planes = 1};
  is_fill_ = true;
  window_fd_ = -1;
  value_ = fill.value;
  element_bytes_ = fill.element_bytes;
  pieces_ = 0;
  rows_ = 0;
  if (element_bytes_ != 1 && element_bytes_ != 2 && element_bytes_ != 4 && element_bytes_ != 8) return false;
  const auto row_bytes = CheckedMul<uint64_t>(fill.width, element_bytes_);
  if (!row_bytes) return false;
  row_bytes_ = *row_bytes;
  if (row_bytes_ == 0 || fill.height == 0) return true;
  if (!CheckedMul<uint64_t>(row_bytes_, fill.height)) return false;
  if (!LiesIn(fill.destination, row_bytes_, fill.height, fill.pitch, 1, 0, window_base, window_bytes)) return false;
  copy_.destination = fill.destination;
  copy_.destination_pitch = fill.pitch;
  copy_.rows = fill.height;
  rows_ = fill.height;
  Cut();
  return true;
}

uint64_t Transfer::destination_bytes() const {
  if (rows_ == 0) return 0;
  return (copy_.planes - 1) * copy_.destination_plane + (copy_.rows - 1) * copy_.destination_pitch + row_bytes_;
}

void Transfer::WriteThrough(int window_fd, uint64_t window_base) {
  window_fd_ = window_fd;
  window_base_ = window_base;
}

void Transfer::WriteBytes(uint64_t to, const void* from, uint64_t bytes) const {
  // Cannot fall short in a memory file whose pages exist; if it did, only the client's own constants would be stale.
  [[maybe_unused]] const ssize_t written = pwrite(window_fd_, from, bytes, static_cast<off_t>(to - window_base_));
}

void Transfer::Cut() {
  if (row_bytes_ >= kPieceBytes) {
    rows_per_piece_ = 1;
    pieces_per_row_ = (row_bytes_ + kPieceBytes - 1) / kPieceBytes;
    pieces_ = rows_ * pieces_per_row_;
  } else {
    rows_per_piece_ = kPieceBytes / row_bytes_;
    pieces_per_row_ = 1;
    pieces_ = (rows_ + rows_per_piece_ - 1) / rows_per_piece_;
  }
}

void Transfer::RunPiece(uint64_t piece) const {
  if (pieces_per_row_ > 1) {
    const uint64_t offset = piece % pieces_per_row_ * kPieceBytes;
    CopyBytes(piece / pieces_per_row_, offset, std::min(kPieceBytes, row_bytes_ - offset));
    return;
  }
  const uint64_t end = std::min(rows_, (piece + 1) * rows_per_piece_);
  for (uint64_t row = piece * rows_per_piece_; row < end; ++row) CopyBytes(row, 0, row_bytes_);
}

void Transfer::CopyBytes(uint64_t row, uint64_t offset, uint64_t bytes) const {
  const uint64_t plane = row / copy_.rows;
  const uint64_t in_plane = row % copy_.rows;
  const uint64_t destination =
      copy_.destination + plane * copy_.destination_plane + in_plane * copy_.destination_pitch + offset;
  auto* to = reinterpret_cast<uint8_t*>(destination);
  if (!is_fill_) {
    const auto* from = reinterpret_cast<const uint8_t*>(copy_.source + plane * copy_.source_plane +
                                                        in_plane * copy_.source_pitch + offset);
    if (window_fd_ >= 0) {
      WriteBytes(destination, from, bytes);
    } else if (!StoreOnce(to, from, bytes)) {
      std::memmove(to, from, bytes);
    }
    return;
  }
  if (window_fd_ >= 0) {
    std::array<uint8_t, 256> pattern;
    for (uint64_t i = 0; i < pattern.size(); i += element_bytes_)
      std::memcpy(pattern.data() + i, &value_, element_bytes_);
    for (uint64_t i = 0; i < bytes; i += pattern.size())
      WriteBytes(destination + i, pattern.data(), std::min<uint64_t>(pattern.size(), bytes - i));
    return;
  }
  if (bytes == element_bytes_ && StoreOnce(to, &value_, bytes)) return;
  const uint64_t first_byte = value_ & 0xff;
  const bool one_byte = element_bytes_ == 1 || value_ << (64 - 8 * element_bytes_) == (0x0101010101010101u * first_byte)
                                                                                          << (64 - 8 * element_bytes_);
  if (one_byte) {
    std::memset(to, static_cast<int>(first_byte), bytes);
    return;
  }
  // Pieces begin at multiples of 8 bytes in a row, so every piece begins with a whole element.
  const uint64_t head = std::min<uint64_t>(bytes, 4096);
  for (uint64_t i = 0; i < head; i += element_bytes_) std::memcpy(to + i, &value_, element_bytes_);
  for (uint64_t i = head; i < bytes; i += head) std::memcpy(to + i, to, std::min(head, bytes - i));
}

}  // namespace tutti::device::cpu
