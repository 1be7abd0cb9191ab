#include "device/cpu/schedule/batch.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace tutti::device::cpu {
namespace {

TEST(Batch, IsTakenAPieceAtATimeFromTheFront) {
  Batch batch;
  batch.Fill(100, 10, 4);
  EXPECT_TRUE(batch.is_large());
  EXPECT_EQ(batch.TakePiece(), Batch::Blocks(100, 104));
  EXPECT_EQ(batch.TakePiece(), Batch::Blocks(104, 108));
  EXPECT_EQ(batch.TakePiece(), Batch::Blocks(108, 110));
  EXPECT_EQ(batch.left(), 0u);
  EXPECT_EQ(batch.TakePiece(), Batch::Blocks(110, 110));
}

TEST(Batch, OthersTakeTheLaterHalf) {
  Batch batch;
  batch.Fill(0, 9, 2);
  EXPECT_EQ(batch.TakePiece(), Batch::Blocks(0, 2));
  EXPECT_EQ(batch.Steal(), Batch::Blocks(5, 9));
  EXPECT_EQ(batch.left(), 3u);
  EXPECT_EQ(batch.TakeRest(), Batch::Blocks(2, 5));
  EXPECT_EQ(batch.Steal(), Batch::Blocks(5, 5));
}

TEST(Batch, TheLastBlockCanBeTaken) {
  Batch batch;
  batch.Fill(7, 2, 1);
  batch.TakePiece();
  EXPECT_EQ(batch.Steal(), Batch::Blocks(8, 9)) << "its SM may be long with the one it has";
  EXPECT_EQ(batch.TakePiece(), Batch::Blocks(8, 8));
}

TEST(Batch, EachBlockGoesToOneSm) {
  constexpr uint64_t kBlocks = 1'000'000;
  Batch batch;
  batch.Fill(0, kBlocks, 3);
  std::vector<uint8_t> times(kBlocks);
  std::atomic<uint32_t> twice{0};
  const auto note = [&](Batch::Blocks blocks) {
    for (uint64_t i = blocks.first; i < blocks.second; ++i) {
      if (std::atomic_ref(times[i]).fetch_add(1) != 0) ++twice;
    }
  };
  std::mutex lock;
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      while (batch.left() != 0) {
        Batch::Blocks blocks;
        {
          std::lock_guard guard(lock);
          blocks = batch.Steal();
        }
        note({blocks.second - std::min<uint64_t>(blocks.second - blocks.first, 5), blocks.second});
        for (uint64_t i = blocks.first; i + 5 < blocks.second; ++i) times[i] = 1;
        std::this_thread::yield();
      }
    });
  }
  for (auto piece = batch.TakePiece(); piece.first < piece.second; piece = batch.TakePiece()) note(piece);
  for (std::thread& other : others) other.join();
  EXPECT_EQ(twice, 0u);
  EXPECT_EQ(std::ranges::count(times, 1), static_cast<std::ptrdiff_t>(kBlocks));
}

}  // namespace
}  // namespace tutti::device::cpu
