// Copies to and from memory that this process does not reach (client/session/attachment.h): through staging memory of
// the window's host part, which the device copies from and to.
//
// A copy is cut into pieces that stay in a core's cache. While the device copies one, this thread copies the next, so a
// long copy costs what the slower of the two costs, and a piece more.
#pragma once

#include <cstdint>
#include <optional>

#include "client/context/stream.h"
#include "client/copy/copy.h"

namespace tutti::client {

// A copy in pieces of at most so many bytes, row by row; those with short rows are of several rows.
class Pieces {
 public:
  Pieces(const CopyRequest& whole, uint64_t most_bytes) : whole_(whole), most_bytes_(most_bytes) {}
  // The next piece: rows of one plane, or a part of a row.
  std::optional<CopyRequest> Next();

 private:
  CopyRequest At(uint64_t x, uint64_t bytes, uint64_t rows) const;

  const CopyRequest whole_;
  const uint64_t most_bytes_;
  uint64_t x_ = 0, row_ = 0, plane_ = 0;  // of the next piece
};

// Copies in the stream. If a side is host memory, all of that has been read, or written unless this fails, when it
// returns; the rest may still be on its way.
int Relay(Stream& stream, const CopyRequest& request);

// Copies when the stream gets there, between the window and host memory that stays as it is until then. OUT_OF_MEMORY
// if the library's threads cannot be started.
int CopyInStream(Stream& stream, const CopyRequest& request);

}  // namespace tutti::client
