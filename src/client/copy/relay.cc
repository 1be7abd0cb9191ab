#include "client/copy/relay.h"

#include <algorithm>
#include <array>

#include "base/copy_past_caches.h"
#include "client/context/context.h"
#include "client/copy/host_copy.h"
#include "client/copy/staging.h"

namespace tutti::client {
namespace {

constexpr uint64_t kPieceBytes = 256 * 1024;
// A copy of this length leaves nothing of itself in the caches.
constexpr uint64_t kPastCachesBytes = 16u << 20;
// One that is copied here, one there, and one each for what a thread is ahead of the other.
constexpr size_t kBlocks = 4;
// Of a copy that waits for its stream: a host call per piece, so they are larger.
constexpr uint64_t kPieceInStreamBytes = 4u << 20;

bool OnDevice(const CopySide& side) { return Attachment::Get().OnDevice(side.address); }

CopySide Packed(uint64_t address, const CopyShape& shape) {
  return {address, shape.row_bytes, shape.row_bytes * shape.rows};
}
CopyRequest To(const CopySide& destination, const CopyRequest& piece) {
  return {destination, piece.source, piece.shape};
}
CopyRequest From(const CopySide& source, const CopyRequest& piece) { return {piece.destination, source, piece.shape}; }

// The staging blocks of a copy, used in turn.
class Blocks {
 public:
  explicit Blocks(Stream& stream) : stream_(stream) {}
  ~Blocks() {
    for (const Staging::Block& block : blocks_) {
      if (block.bytes != 0) Staging::Get().GiveBack(block, stream_.LastMark());
    }
  }
  Blocks(const Blocks&) = delete;

  // At least one; false if there is no memory.
  bool Take(uint64_t bytes) {
    const uint64_t wanted = std::min<uint64_t>(kBlocks, (bytes + kPieceBytes - 1) / kPieceBytes);
    while (count_ < wanted) {
      const auto block = Staging::Get().Take(stream_.context(), std::min(bytes, kPieceBytes));
      if (!block) break;
      blocks_[count_++] = *block;
    }
    return count_ != 0;
  }
  size_t count() const { return count_; }
  uint64_t operator[](size_t i) const { return blocks_[i].address; }

 private:
  Stream& stream_;
  std::array<Staging::Block, kBlocks> blocks_;
  size_t count_ = 0;
};

int HostToDevice(Stream& stream, const CopyRequest& request, const Blocks& blocks) {
  std::array<StreamMark, kBlocks> used{};
  Pieces pieces(request, kPieceBytes);
  for (size_t i = 0; const auto piece = pieces.Next(); i = (i + 1) % blocks.count()) {
    CU_TRY(used[i].Wait());
    const CopySide staged = Packed(blocks[i], piece->shape);
    CopyHere(To(staged, *piece));
    SubmitCopy(stream, From(staged, *piece));
    used[i] = stream.LastMark();
  }
  return 0;
}

// Out of a staging block.
void CopyOut(const CopyRequest& piece, bool past_caches) {
  if (!past_caches || piece.shape.rows != 1) return CopyHere(piece);
  CopyPastCaches(reinterpret_cast<void*>(piece.destination.address),
                 reinterpret_cast<const void*>(piece.source.address), piece.shape.row_bytes);
}

int DeviceToHost(Stream& stream, const CopyRequest& request, const Blocks& blocks) {
  const bool past_caches = request.shape.bytes() >= kPastCachesBytes;
  struct Underway {
    CopyRequest piece;
    StreamMark staged;
  };
  std::array<std::optional<Underway>, kBlocks> underway;
  Pieces pieces(request, kPieceBytes);
  const auto submit = [&](size_t i) {
    const auto piece = pieces.Next();
    underway[i].reset();
    if (!piece) return;
    SubmitCopy(stream, To(Packed(blocks[i], piece->shape), *piece));
    underway[i] = Underway{*piece, stream.LastMark()};
  };
  for (size_t i = 0; i < blocks.count(); ++i) submit(i);
  for (size_t i = 0; underway[i]; i = (i + 1) % blocks.count()) {
    CU_TRY(underway[i]->staged.Wait());
    CU_TRY(stream.context().Check());  // what failed has not been staged
    CopyOut(From(Packed(blocks[i], underway[i]->piece.shape), underway[i]->piece), past_caches);
    submit(i);
  }
  return 0;
}

}  // namespace

CopyRequest Pieces::At(uint64_t x, uint64_t bytes, uint64_t rows) const {
  const auto side = [&](const CopySide& s) {
    return CopySide{s.address + plane_ * s.plane + row_ * s.pitch + x, s.pitch, s.plane};
  };
  return {side(whole_.destination), side(whole_.source), {bytes, rows, 1}};
}

std::optional<CopyRequest> Pieces::Next() {
  const CopyShape& shape = whole_.shape;
  if (plane_ == shape.planes) return std::nullopt;
  CopyRequest piece;
  if (shape.row_bytes > most_bytes_) {
    piece = At(x_, std::min(most_bytes_, shape.row_bytes - x_), 1);
    x_ += piece.shape.row_bytes;
    if (x_ == shape.row_bytes) {
      x_ = 0;
      ++row_;
    }
  } else {
    piece = At(0, shape.row_bytes, std::min(most_bytes_ / shape.row_bytes, shape.rows - row_));
    row_ += piece.shape.rows;
  }
  if (row_ == shape.rows) {
    row_ = 0;
    ++plane_;
  }
  return piece;
}

int Relay(Stream& stream, const CopyRequest& request) {
  if (request.shape.empty()) return 0;
  if (OnDevice(request.source) && OnDevice(request.destination)) {
    SubmitCopy(stream, request);
    return 0;
  }
  Blocks blocks(stream);
  if (!blocks.Take(request.shape.bytes())) return cuda::CUDA_ERROR_OUT_OF_MEMORY;
  return OnDevice(request.destination) ? HostToDevice(stream, request, blocks) : DeviceToHost(stream, request, blocks);
}

// All pieces use one block: the stream does them one after the other.
int CopyInStream(Stream& stream, const CopyRequest& request) {
  if (ReachesBoth(request)) return HostCopies::Get().Submit(stream, request);
  const auto block = Staging::Get().Take(stream.context(), std::min(request.shape.bytes(), kPieceInStreamBytes));
  if (!block) return Relay(stream, request);
  int status = cuda::CUDA_SUCCESS;
  Pieces pieces(request, kPieceInStreamBytes);
  for (auto piece = pieces.Next(); piece && status == 0; piece = pieces.Next()) {
    const CopySide staged = Packed(block->address, piece->shape);
    if (OnDevice(request.destination)) {
      status = HostCopies::Get().Submit(stream, To(staged, *piece));
      if (status == 0) SubmitCopy(stream, From(staged, *piece));
    } else {
      SubmitCopy(stream, To(staged, *piece));
      status = HostCopies::Get().Submit(stream, From(staged, *piece));
    }
  }
  Staging::Get().GiveBack(*block, stream.LastMark());
  return status;
}

}  // namespace tutti::client
