// What is read of a FIFO into which anybody may have written anything.
#include "executor/print_fifo.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tutti::executor {
namespace {

using namespace cuda;

class PrintFifoTest : public testing::Test {
 protected:
  PrintFifoTest() { texts_.Open(fifo.get(), 1); }

  // As a kernel would: a record of this format, and behind it of these bytes, which begin with the arguments.
  void Write(std::string_view format, std::vector<uint8_t> behind = {}, guest::PrintHead head = {}) {
    std::vector<uint8_t> record(sizeof head);
    record.insert(record.end(), format.begin(), format.end());
    record.push_back(0);
    record.resize((record.size() + 7) / 8 * 8);
    if (head.arguments == 0) head.arguments = static_cast<uint32_t>(record.size());
    record.insert(record.end(), behind.begin(), behind.end());
    record.resize((record.size() + 7) / 8 * 8);
    if (head.bytes == 0) head.bytes = static_cast<uint32_t>(record.size());
    std::memcpy(record.data(), &head, sizeof head);
    for (size_t i = 0; i < record.size(); ++i) fifo->ring[(written_ + i) % guest::kPrintRingBytes] = record[i];
    written_ += record.size();
  }
  static std::vector<uint8_t> Words(std::vector<uint64_t> words) {
    std::vector<uint8_t> bytes(words.size() * sizeof(uint64_t));
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
  }

  const std::unique_ptr<guest::PrintFifo> fifo{new guest::PrintFifo()};
  PrintFifo texts_;
  uint64_t written_ = 0;
};

TEST_F(PrintFifoTest, RecordsAreTextsInTheirOrder) {
  Write("one %d\n", Words({1}));
  Write("false %s", Words({40, 0x6f6e}), {.kind = 1});
  Write("two\n");
  const PrintFifo::Texts texts = texts_.Take();
  EXPECT_EQ(texts.printed, "one 1\ntwo\n");
  EXPECT_EQ(texts.failed, "false no");
  EXPECT_EQ(texts.bytes, written_);
  EXPECT_EQ(fifo->consumed, written_);
  EXPECT_EQ(texts_.Take().bytes, 0u);
}

TEST_F(PrintFifoTest, WhatIsReadIsZeroAndARecordGoesOnAtTheBegin) {
  const std::string line(3000, '.');
  std::string printed;
  while (written_ < 3 * guest::kPrintRingBytes) {
    Write(line);
    printed = texts_.Take().printed;
    ASSERT_EQ(printed, line);
  }
  for (const uint8_t byte : fifo->ring) ASSERT_EQ(byte, 0);
}

TEST_F(PrintFifoTest, StringsAndArgumentsAreOfTheRecordAlone) {
  const char* const secret = "of this process";
  Write("<%s|%s|%s>", Words({reinterpret_cast<uint64_t>(secret), 8, ~0ull}));
  EXPECT_EQ(texts_.Take().printed, "<||>");
  Write("<%d %s>", {}, {.arguments = 0xfffffff8});
  EXPECT_EQ(texts_.Take().printed, "<0 (null)>");
  Write("<%s>", Words({1}));
  EXPECT_EQ(texts_.Take().printed, "<>");
}

TEST_F(PrintFifoTest, NothingMoreIsReadWhereALengthCannotBe) {
  for (const uint32_t bytes : {4u, 17u, 8u, uint32_t{guest::kPrintRingBytes} + 8, ~0u}) {
    PrintFifo texts;
    std::memset(fifo.get(), 0, sizeof *fifo);
    texts.Open(fifo.get(), 1);
    written_ = 0;
    Write("text", {}, {.bytes = bytes});
    EXPECT_EQ(texts.Take().bytes, 0u) << bytes;
    written_ = 0;
    Write("text");
    EXPECT_EQ(texts.Take().bytes, 0u) << bytes;
  }
}

TEST_F(PrintFifoTest, ARecordMayBeAsLongAsTheRing) {
  Write("text", {}, {.bytes = guest::kPrintRingBytes});
  EXPECT_EQ(texts_.Take().printed, "text") << "the whole of it is a record";
}

// As by a kernel that prints nothing for ever: a place that ends waits for the thread that reads.
TEST_F(PrintFifoTest, WhoPrintsFasterThanIsReadHoldsUpNobody) {
  static constexpr guest::PrintHead kEmpty{.bytes = 32, .kind = 0, .arguments = 24, .reserved = 0};
  const auto print = [this] {
    if (written_ - std::atomic_ref(fifo->consumed).load() == guest::kPrintRingBytes) return false;
    uint8_t* const place = fifo->ring + written_ % guest::kPrintRingBytes;
    std::memcpy(place + sizeof kEmpty.bytes, &kEmpty.kind, sizeof kEmpty - sizeof kEmpty.bytes);
    std::atomic_ref(*reinterpret_cast<uint32_t*>(place)).store(kEmpty.bytes);
    written_ += kEmpty.bytes;
    return true;
  };
  while (print()) continue;
  std::atomic<bool> is_over{false};
  std::thread prints([&] {
    while (!is_over) print();
  });
  const PrintFifo::Texts texts = texts_.Take();
  is_over = true;
  prints.join();
  EXPECT_EQ(texts.bytes, guest::kPrintRingBytes);
}

}  // namespace
}  // namespace tutti::executor
