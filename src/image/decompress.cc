#include "image/decompress.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "cuda/result.h"

namespace tutti::image {
namespace {

constexpr uint64_t kLz4BestRatio = 255;  // one byte of a length field stands for at most 255 bytes
constexpr size_t kFirstPieceBytes = 1u << 16;

std::unexpected<Error> Broken(std::string text) {
  return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "broken compressed entry: " + std::move(text));
}

Status CheckSize(uint64_t expected, uint64_t limit) {
  if (expected == 0) return Broken("it says it holds nothing");
  if (expected > limit) return Broken(fmt::format("it says it holds {} bytes; at most {} are taken", expected, limit));
  return {};
}

}  // namespace

Result<std::vector<uint8_t>> DecompressLz4(std::span<const uint8_t> block, uint64_t expected, uint64_t limit) {
  TUTTI_TRY(CheckSize(expected, limit));
  if (expected > LZ4_MAX_INPUT_SIZE || block.size() > LZ4_MAX_INPUT_SIZE ||
      expected > (block.size() + 1) * kLz4BestRatio) {
    return Broken(fmt::format("{} bytes cannot hold {}", block.size(), expected));
  }
  std::vector<uint8_t> out(expected);
  const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(out.data()),
                                      static_cast<int>(block.size()), static_cast<int>(expected));
  if (got < 0 || static_cast<uint64_t>(got) != expected) return Broken("its LZ4 block is damaged");
  return out;
}

Result<std::vector<uint8_t>> DecompressZstd(std::span<const uint8_t> frame, uint64_t expected, uint64_t limit) {
  TUTTI_TRY(CheckSize(expected, limit));
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(), ZSTD_freeDStream);
  if (stream == nullptr) return Broken("no memory to decompress it");
  std::vector<uint8_t> out;
  ZSTD_inBuffer in{frame.data(), frame.size(), 0};
  size_t filled = 0;
  while (true) {
    if (filled == out.size()) {  // grow with the actual output
      if (filled == expected) return Broken("it holds more than it says");
      out.resize(std::min<uint64_t>(expected, std::max(kFirstPieceBytes, 2 * out.size())));
    }
    ZSTD_outBuffer piece{out.data(), out.size(), filled};
    const size_t left = ZSTD_decompressStream(stream.get(), &piece, &in);
    if (ZSTD_isError(left) != 0) return Broken(fmt::format("its zstd frame is damaged ({})", ZSTD_getErrorName(left)));
    filled = piece.pos;
    if (left == 0) break;
    if (in.pos == in.size && filled < out.size()) return Broken("its zstd frame is cut short");
  }
  if (filled != expected) return Broken(fmt::format("it says it holds {} bytes, but holds {}", expected, filled));
  out.resize(filled);
  return out;
}

}  // namespace tutti::image
