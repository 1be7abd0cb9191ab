// Copies and fills as work for SMs: cut into pieces ("blocks") of about 256 KiB, so that several SMs share a large one
// and none is held up long. Pieces run on guest stacks: the memory is the client's, and touching it may fault.
#pragma once

#include <cstdint>

#include "wire/ring_layout.h"

namespace tutti::device::cpu {

class Transfer {
 public:
  // False if a part of it lies outside of the window [base, base + bytes), or sizes overflow; *bad is an address
  // outside.
  bool SetCopy(const wire::CopyBody& copy, uint64_t window_base, uint64_t window_bytes, uint64_t* bad);
  bool SetFill(const wire::FillBody& fill, uint64_t window_base, uint64_t window_bytes, uint64_t* bad);

  // The destination range, gaps between rows included.
  uint64_t destination() const { return copy_.destination; }
  uint64_t destination_bytes() const;
  // A part of the destination is mapped read-only: writes go through the window's memory file instead.
  void WriteThrough(int window_fd, uint64_t window_base);

  uint64_t pieces() const { return pieces_; }  // 0: nothing to do
  uint64_t total_bytes() const { return row_bytes_ * rows_; }
  void RunPiece(uint64_t piece) const;

 private:
  void Cut();
  void CopyBytes(uint64_t row, uint64_t offset, uint64_t bytes) const;
  void WriteBytes(uint64_t to, const void* from, uint64_t bytes) const;

  wire::CopyBody copy_{};  // a fill uses its destination side
  bool is_fill_ = false;
  uint64_t value_ = 0;
  uint32_t element_bytes_ = 1;
  int window_fd_ = -1;  // WriteThrough
  uint64_t window_base_ = 0;
  uint64_t row_bytes_ = 0;
  uint64_t rows_ = 0;  // in all planes
  uint64_t pieces_ = 0;
  uint64_t rows_per_piece_ = 1;
  uint64_t pieces_per_row_ = 1;
};

}  // namespace tutti::device::cpu
