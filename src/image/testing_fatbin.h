// For tests: builds fat binaries as nvcc does.
#pragma once

#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "image/fatbin.h"

namespace tutti::image {

enum class Packing { kPlain, kLz4, kZstd };

class FatbinBuilder {
 public:
  FatbinBuilder& Add(EntryKind kind, uint32_t arch, std::string_view payload, Packing packing = Packing::kPlain,
                     uint64_t flags = 0x11) {
    std::string stored(payload);
    if (packing == Packing::kLz4) {
      stored.resize(static_cast<size_t>(LZ4_compressBound(static_cast<int>(payload.size()))));
      const int size = LZ4_compress_default(payload.data(), stored.data(), static_cast<int>(payload.size()),
                                            static_cast<int>(stored.size()));
      stored.resize(static_cast<size_t>(size));
      flags |= kFlagLz4;
    } else if (packing == Packing::kZstd) {
      stored.resize(ZSTD_compressBound(payload.size()));
      stored.resize(ZSTD_compress(stored.data(), stored.size(), payload.data(), payload.size(), 3));
      flags |= kFlagZstd;
    }
    std::vector<uint8_t> head(64);
    const bool packed = packing != Packing::kPlain;
    Store(&head, 0, static_cast<uint16_t>(kind));
    Store(&head, 2, uint16_t{0x0101});
    Store(&head, 4, uint32_t{64});
    Store(&head, 8, uint64_t{(stored.size() + 7) / 8 * 8});
    Store(&head, 16, packed ? static_cast<uint32_t>(stored.size()) : 0);
    Store(&head, 26, uint16_t{9});
    Store(&head, 28, arch);
    Store(&head, 40, flags);
    Store(&head, 56, packed ? uint64_t{payload.size()} : 0);
    entries_.insert(entries_.end(), head.begin(), head.end());
    entries_.insert(entries_.end(), stored.begin(), stored.end());
    entries_.resize((entries_.size() + 7) / 8 * 8);
    return *this;
  }

  std::vector<uint8_t> Build() const {
    std::vector<uint8_t> out(16);
    Store(&out, 0, uint32_t{0xba55ed50});
    Store(&out, 4, uint16_t{1});
    Store(&out, 6, uint16_t{16});
    Store(&out, 8, uint64_t{entries_.size()});
    out.insert(out.end(), entries_.begin(), entries_.end());
    return out;
  }

  template <typename T>
  static void Store(std::vector<uint8_t>* bytes, size_t offset, T value) {
    std::memcpy(bytes->data() + offset, &value, sizeof value);
  }

 private:
  std::vector<uint8_t> entries_;
};

}  // namespace tutti::image
