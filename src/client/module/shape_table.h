// Kernels by block shape (BlockShape::packed, never 0): a hash table, open addressing, that is replaced by a larger one
// when half full. Those that were replaced stay, since a launch may be looking.
//
// Find is thread-safe, also beside an Add. Add: one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tutti::client {

class ShapeTable {
 public:
  std::optional<uint32_t> Find(uint64_t shape) const;
  // Nothing happens if it is there.
  void Add(uint64_t shape, uint32_t kernel);

 private:
  // Written once, shape last; then only read.
  struct Entry {
    std::atomic<uint64_t> shape{0};
    uint32_t kernel = 0;
  };
  struct Table {
    explicit Table(size_t size) : mask(size - 1), entries(new Entry[size]) {}
    void Add(uint64_t shape, uint32_t kernel);

    const size_t mask;
    const std::unique_ptr<Entry[]> entries;
    size_t used = 0;
  };
  void Grow();

  std::atomic<const Table*> current_{nullptr};
  std::vector<std::unique_ptr<Table>> tables_;  // the last is current_
};

}  // namespace tutti::client
