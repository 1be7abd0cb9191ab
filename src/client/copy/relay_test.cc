#include "client/copy/relay.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::client {
namespace {

// Copies by pieces between two buffers.
struct Sides {
  explicit Sides(const CopyShape& of, uint64_t gap) : shape(of) {
    const uint64_t pitch = shape.row_bytes + gap, plane = pitch * shape.rows + 3 * gap;
    source.resize(plane * shape.planes);
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i * 7 + i / 251 + 1);
    destination.resize(source.size());
    const auto side = [&](std::vector<uint8_t>& bytes) {
      return CopySide{reinterpret_cast<uint64_t>(bytes.data()), pitch, plane};
    };
    request = {side(destination), side(source), shape};
  }
  // Whether exactly the bytes of the rows are the source's.
  bool Right() const {
    for (size_t i = 0; i < destination.size(); ++i) {
      const uint64_t in_plane = i % request.source.plane, in_row = in_plane % request.source.pitch;
      const bool copied = in_plane / request.source.pitch < shape.rows && in_row < shape.row_bytes;
      if (destination[i] != (copied ? source[i] : 0)) return false;
    }
    return true;
  }

  CopyShape shape;
  std::vector<uint8_t> source, destination;
  CopyRequest request;
};

TEST(Pieces, AreTheWholeCopyAndNoneIsLargerThanItMayBe) {
  constexpr uint64_t kMost = 64;
  for (const CopyShape& shape :
       {CopyShape{1, 1, 1}, CopyShape{64, 1, 1}, CopyShape{65, 1, 1}, CopyShape{1000, 3, 2}, CopyShape{7, 100, 3},
        CopyShape{33, 5, 4}, CopyShape{64, 64, 1}, CopyShape{63, 2, 2}}) {
    for (const uint64_t gap : {0, 5}) {
      Sides sides(shape, gap);
      Pieces pieces(sides.request, kMost);
      uint64_t bytes = 0;
      while (const auto piece = pieces.Next()) {
        EXPECT_LE(piece->shape.bytes(), kMost);
        EXPECT_EQ(piece->shape.planes, 1u);
        CopyHere(*piece);
        bytes += piece->shape.bytes();
      }
      EXPECT_EQ(bytes, shape.bytes()) << "none is copied twice";
      EXPECT_TRUE(sides.Right()) << shape.row_bytes << " x " << shape.rows << " x " << shape.planes << ", gap " << gap;
      EXPECT_FALSE(pieces.Next());
    }
  }
}

}  // namespace
}  // namespace tutti::client
