#include "client/module/shape_table.h"

namespace tutti::client {
namespace {

constexpr size_t kFirstSize = 16;

size_t Hash(uint64_t shape) { return shape * 0x9e3779b97f4a7c15 >> 32; }

}  // namespace

// Reads each entry once: a free one may belong to another shape a moment later.
std::optional<uint32_t> ShapeTable::Find(uint64_t shape) const {
  const Table* const table = current_.load(std::memory_order_acquire);  // pairs with Grow
  if (table == nullptr) return std::nullopt;
  for (size_t i = Hash(shape);; ++i) {
    const Entry& entry = table->entries[i & table->mask];
    const uint64_t held = entry.shape.load(std::memory_order_acquire);  // pairs with Table::Add
    if (held == shape) return entry.kernel;
    if (held == 0) return std::nullopt;
  }
}

void ShapeTable::Add(uint64_t shape, uint32_t kernel) {
  if (Find(shape)) return;
  if (tables_.empty() || 2 * tables_.back()->used > tables_.back()->mask) Grow();
  tables_.back()->Add(shape, kernel);
}

void ShapeTable::Table::Add(uint64_t shape, uint32_t kernel) {
  size_t i = Hash(shape);
  while (entries[i & mask].shape.load(std::memory_order_relaxed) != 0) ++i;
  entries[i & mask].kernel = kernel;
  entries[i & mask].shape.store(shape, std::memory_order_release);  // with the kernel
  ++used;
}

void ShapeTable::Grow() {
  const Table* const old = tables_.empty() ? nullptr : tables_.back().get();
  auto larger = std::make_unique<Table>(old == nullptr ? kFirstSize : 2 * (old->mask + 1));
  for (size_t i = 0; old != nullptr && i <= old->mask; ++i) {
    const uint64_t held = old->entries[i].shape.load(std::memory_order_relaxed);
    if (held != 0) larger->Add(held, old->entries[i].kernel);
  }
  current_.store(larger.get(), std::memory_order_release);
  tables_.push_back(std::move(larger));
}

}  // namespace tutti::client
