// Kernels by block shape (BlockShape::packed, never 0): an open-addressing hash table that is replaced by a larger one
// when half full. Replaced tables are kept, since a launch may still be reading one.
//
// Find is thread-safe, also during an Add. Add: one thread at a time.
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
  // A no-op if it exists.
  void Add(uint64_t shape, uint32_t kernel);

 private:
  // Written once, shape last; read-only from then on.
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
