#include "image/fatbin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cuda/result.h"
#include "image/decompress.h"
#include "image/image_kind.h"

namespace tutti::image {
namespace {

constexpr uint64_t kHeaderBytes = 16;
constexpr uint64_t kEntryHeaderBytes = 64;
constexpr uint64_t kLargestEntryHeader = 4096;
constexpr size_t kMaxEntries = 1u << 20;

template <typename T>
T Load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::unexpected<Error> Broken(std::string text) {
  return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "broken fatbin: " + std::move(text));
}

Result<FatbinEntry> ReadEntry(std::span<const uint8_t> rest, uint64_t* size) {
  if (rest.size() < kEntryHeaderBytes)
    return Broken(fmt::format("{} bytes are left where an entry must begin", rest.size()));
  const uint8_t* head = rest.data();
  const uint64_t header_bytes = Load<uint32_t>(head + 4);
  const uint64_t payload_bytes = Load<uint64_t>(head + 8);
  const uint64_t compressed_bytes = Load<uint32_t>(head + 16);
  if (header_bytes < kEntryHeaderBytes || header_bytes > kLargestEntryHeader || header_bytes > rest.size()) {
    return Broken(fmt::format("an entry with a header of {} bytes", header_bytes));
  }
  if (payload_bytes > rest.size() - header_bytes) {
    return Broken(
        fmt::format("an entry of {} bytes, of which {} are there", payload_bytes, rest.size() - header_bytes));
  }
  FatbinEntry entry;
  entry.kind = static_cast<EntryKind>(Load<uint16_t>(head));
  entry.version_minor = Load<uint16_t>(head + 24);
  entry.version_major = Load<uint16_t>(head + 26);
  entry.arch = Load<uint32_t>(head + 28);
  entry.flags = Load<uint64_t>(head + 40);
  entry.uncompressed_bytes = Load<uint64_t>(head + 56);
  const bool compressed = (entry.flags & (kFlagLz4 | kFlagZstd)) != 0;
  if (compressed && compressed_bytes > payload_bytes) {
    return Broken(fmt::format("{} compressed bytes in an entry of {}", compressed_bytes, payload_bytes));
  }
  entry.payload = rest.subspan(header_bytes, compressed ? compressed_bytes : payload_bytes);
  *size = header_bytes + payload_bytes;
  return entry;
}

Status ReadEntries(std::span<const uint8_t> rest, Fatbins* out) {
  while (!rest.empty()) {
    uint64_t size = 0;
    TUTTI_ASSIGN(FatbinEntry entry, ReadEntry(rest, &size));
    if (out->entries.size() == kMaxEntries) return Broken("too many entries");
    entry.unit = out->units;
    out->entries.push_back(entry);
    rest = rest.subspan(size);
  }
  return {};
}

}  // namespace

uint64_t FatbinBytes(const uint8_t* header) {
  if (Load<uint32_t>(header) != kFatbinMagic) return 0;
  const uint64_t header_bytes = Load<uint16_t>(header + 6);
  const uint64_t bytes = Load<uint64_t>(header + 8);
  if (header_bytes < kHeaderBytes || bytes > uint64_t{1} << 40) return 0;
  return header_bytes + bytes;
}

Result<Fatbins> ReadFatbins(std::span<const uint8_t> bytes) {
  Fatbins out;
  while (true) {
    while (out.units != 0 && !bytes.empty() && bytes.front() == 0) bytes = bytes.subspan(1);
    if (out.units != 0 && bytes.empty()) return out;
    if (bytes.size() < kHeaderBytes) return Broken(fmt::format("{} bytes are too few for a header", bytes.size()));
    const uint64_t size = FatbinBytes(bytes.data());
    const uint64_t header_bytes = Load<uint16_t>(bytes.data() + 6);
    if (size == 0) return Broken("no header where one must be");
    if (size > bytes.size()) return Broken(fmt::format("its header says {} bytes, {} are there", size, bytes.size()));
    TUTTI_TRY(ReadEntries(bytes.subspan(header_bytes, size - header_bytes), &out));
    ++out.units;
    bytes = bytes.subspan(size);
  }
}

Result<std::vector<uint8_t>> PayloadOf(const FatbinEntry& entry, uint64_t limit) {
  if ((entry.flags & kFlagZstd) != 0) return DecompressZstd(entry.payload, entry.uncompressed_bytes, limit);
  if ((entry.flags & kFlagLz4) != 0) return DecompressLz4(entry.payload, entry.uncompressed_bytes, limit);
  if (entry.payload.size() > limit) return Broken(fmt::format("an entry of more than {} bytes", limit));
  return std::vector<uint8_t>(entry.payload.begin(), entry.payload.end());
}

}  // namespace tutti::image
