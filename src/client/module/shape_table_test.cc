#include "client/module/shape_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace tutti::client {
namespace {

TEST(ShapeTable, KeepsEveryShape) {
  ShapeTable table;
  EXPECT_FALSE(table.Find(1).has_value());
  for (uint32_t shape = 1; shape <= 1000; ++shape) {
    table.Add(shape, shape + 7);
    EXPECT_FALSE(table.Find(shape + 1).has_value());
  }
  for (uint32_t shape = 1; shape <= 1000; ++shape) EXPECT_EQ(table.Find(shape), shape + 7);
}

TEST(ShapeTable, AShapeKeepsItsFirstKernel) {
  ShapeTable table;
  table.Add(5, 1);
  table.Add(5, 2);
  EXPECT_EQ(table.Find(5), 1u);
}

constexpr uint32_t kAdded = 8;    // shapes from 1 on
constexpr uint32_t kAbsent = 32;  // behind those: some for every place of the table

// How many absent shapes a thread finds in tables that another one fills.
uint32_t FoundWhileAdding(uint32_t tables) {
  std::vector<std::unique_ptr<ShapeTable>> all(tables);
  for (auto& table : all) table = std::make_unique<ShapeTable>();
  std::atomic<uint32_t> current{0};
  uint32_t found = 0;
  std::thread reader([&] {
    for (uint32_t at; (at = current.load(std::memory_order_relaxed)) < tables;) {
      for (uint32_t shape = kAdded + 1; shape <= kAdded + kAbsent; ++shape) found += all[at]->Find(shape) ? 1 : 0;
    }
  });
  for (uint32_t at = 0; at < tables; current.store(++at, std::memory_order_relaxed)) {
    for (uint32_t shape = 1; shape <= kAdded; ++shape) all[at]->Add(shape, shape);
  }
  reader.join();
  return found;
}

// It comes to the place that was free when the reader looked there: seldom, so often tried.
TEST(ShapeTable, AShapeIsNeverTakenForOneThatIsAdded) {
  for (int round = 0; round < 10; ++round) EXPECT_EQ(FoundWhileAdding(50'000), 0u);
}

}  // namespace
}  // namespace tutti::client
