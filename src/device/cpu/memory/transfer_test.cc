#include "device/cpu/memory/transfer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <atomic>
#include <cstring>
#include <vector>

#include "wire/limits.h"

namespace tutti::device::cpu {
namespace {

uint64_t Address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void RunAll(const Transfer& transfer) {
  for (uint64_t i = 0; i < transfer.pieces(); ++i) transfer.RunPiece(i);
}

TEST(Transfer, LargeRowsAreCutIntoPieces) {
  std::vector<uint8_t> memory(4 << 20);
  for (size_t i = 0; i < memory.size() / 2; ++i) memory[i] = static_cast<uint8_t>(i * 7);
  const wire::CopyBody copy{.destination = Address(&memory[2 << 20]),
                            .source = Address(memory.data()),
                            .row_bytes = 1'500'001,
                            .rows = 1,
                            .planes = 1};
  Transfer transfer;
  uint64_t bad = 0;
  ASSERT_TRUE(transfer.SetCopy(copy, Address(memory.data()), memory.size(), &bad));
  EXPECT_GT(transfer.pieces(), 4u);
  RunAll(transfer);
  EXPECT_EQ(std::memcmp(&memory[2 << 20], memory.data(), 1'500'001), 0);
  EXPECT_EQ(memory[(2 << 20) + 1'500'001], 0);
}

TEST(Transfer, CopiesRowsAndPlanesWithTheirPitches) {
  std::vector<uint8_t> memory(100'000);
  for (size_t i = 0; i < 50'000; ++i) memory[i] = static_cast<uint8_t>(i);
  const wire::CopyBody copy{.destination = Address(&memory[60'000]),
                            .source = Address(memory.data()),
                            .row_bytes = 3,
                            .rows = 4,
                            .planes = 2,
                            .destination_pitch = 3,
                            .source_pitch = 10,
                            .destination_plane = 12,
                            .source_plane = 1000};
  Transfer transfer;
  uint64_t bad = 0;
  ASSERT_TRUE(transfer.SetCopy(copy, Address(memory.data()), memory.size(), &bad));
  RunAll(transfer);
  for (int plane = 0; plane < 2; ++plane) {
    for (int row = 0; row < 4; ++row) {
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(memory[60'000 + plane * 12 + row * 3 + i], memory[plane * 1000 + row * 10 + i]);
    }
  }
}

// Single steps, which the thread sanitizer's runtime is not made for.
#if defined(__x86_64__) && !defined(TUTTI_TSAN)
uint64_t awaited_word, awaited_mark;
bool answered;

// Whoever waits for a word and answers in it may do so after any instruction.
void AnswerWhenItIsThere(int) {
  const std::atomic_ref word(awaited_word);
  if (answered || word.load() != awaited_mark) return;
  answered = true;
  word.store(2);
}

TEST(Transfer, AWordIsWrittenOnce) {
  constexpr uint64_t kTrapFlag = 0x100;
  struct sigaction before, answer{};
  answer.sa_handler = AnswerWhenItIsThere;
  ASSERT_EQ(sigaction(SIGTRAP, &answer, &before), 0);
  const uint64_t end = Address(&awaited_word) + sizeof awaited_word;
  for (const uint32_t bytes : {4u, 8u}) {
    for (const uint64_t mark : {0x0102'0304ull, 0x0707'0707ull}) {
      awaited_mark = mark;
      Transfer fill, copy;
      uint64_t bad = 0;
      ASSERT_TRUE(fill.SetFill({.destination = Address(&awaited_word),
                                .width = 1,
                                .height = 1,
                                .pitch = 0,
                                .value = mark,
                                .element_bytes = bytes,
                                .reserved = 0},
                               0, end, &bad));
      ASSERT_TRUE(copy.SetCopy(
          {.destination = Address(&awaited_word), .source = Address(&mark), .row_bytes = bytes, .rows = 1, .planes = 1},
          0, ~uint64_t{0}, &bad));
      for (const Transfer* transfer : {&fill, &copy}) {
        awaited_word = 0;
        answered = false;
        __writeeflags(__readeflags() | kTrapFlag);
        transfer->RunPiece(0);
        __writeeflags(__readeflags() & ~kTrapFlag);
        EXPECT_EQ(awaited_word, 2u) << bytes << " bytes of " << mark << (transfer == &fill ? ", filled" : ", copied");
      }
    }
  }
  sigaction(SIGTRAP, &before, nullptr);
}
#endif

TEST(Transfer, WritesThroughTheFileWhatIsMappedReadOnly) {
  constexpr size_t kBytes = 3 * 4096;
  const int fd = memfd_create("window", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, kBytes), 0);
  auto* const window = static_cast<uint8_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  ASSERT_NE(window, MAP_FAILED);
  for (int i = 0; i < 4096; ++i) window[i] = static_cast<uint8_t>(i * 3 + 1);
  ASSERT_EQ(mprotect(window + 4096, 4096, PROT_READ), 0);
  uint64_t bad = 0;
  Transfer copy;
  ASSERT_TRUE(copy.SetCopy({.destination = Address(window + 5000),
                            .source = Address(window),
                            .row_bytes = 100,
                            .rows = 2,
                            .planes = 1,
                            .destination_pitch = 3000,
                            .source_pitch = 200},
                           Address(window), kBytes, &bad));
  EXPECT_EQ(copy.destination_bytes(), 3100u);
  copy.WriteThrough(fd, Address(window));
  RunAll(copy);
  EXPECT_EQ(std::memcmp(window + 5000, window, 100), 0);
  EXPECT_EQ(std::memcmp(window + 8000, window + 200, 100), 0);
  Transfer fill;
  ASSERT_TRUE(fill.SetFill({.destination = Address(window + 4096),
                            .width = 301,
                            .height = 1,
                            .pitch = 0,
                            .value = 0x11223344,
                            .element_bytes = 4},
                           Address(window), kBytes, &bad));
  EXPECT_EQ(fill.destination_bytes(), 1204u);
  fill.WriteThrough(fd, Address(window));
  RunAll(fill);
  for (int i = 0; i < 301; ++i) {
    uint32_t word;
    std::memcpy(&word, window + 4096 + 4 * i, 4);
    ASSERT_EQ(word, 0x11223344u) << i;
  }
  munmap(window, kBytes);
  close(fd);
}

TEST(Transfer, RefusesWhatIsNotInTheWindowOrOverflows) {
  std::vector<uint8_t> memory(4096);
  const uint64_t base = Address(memory.data());
  Transfer transfer;
  uint64_t bad = 0;
  wire::CopyBody copy{.destination = base, .source = base + 4000, .row_bytes = 97, .rows = 1, .planes = 1};
  EXPECT_FALSE(transfer.SetCopy(copy, base, memory.size(), &bad));
  EXPECT_EQ(bad, copy.source);
  copy = {.destination = base - 1, .source = base, .row_bytes = 1, .rows = 1, .planes = 1};
  EXPECT_FALSE(transfer.SetCopy(copy, base, memory.size(), &bad));
  copy = {
      .destination = base, .source = base, .row_bytes = 1, .rows = ~0ull, .planes = 2, .destination_pitch = 1ull << 63};
  EXPECT_FALSE(transfer.SetCopy(copy, base, memory.size(), &bad));
  copy = {.destination = base, .source = base, .row_bytes = 0, .rows = 5, .planes = 5};
  EXPECT_TRUE(transfer.SetCopy(copy, base, memory.size(), &bad));
  EXPECT_EQ(transfer.pieces(), 0u);
}

TEST(Transfer, FillsElementsOfEverySize) {
  std::vector<uint8_t> memory(3 << 20);
  const uint64_t base = Address(memory.data());
  for (const uint32_t bytes : {1u, 2u, 4u, 8u}) {
    std::fill(memory.begin(), memory.end(), 0);
    const wire::FillBody fill{.destination = base + 8,
                              .width = 200'001,
                              .height = 1,
                              .pitch = 0,
                              .value = 0x1122334455667788,
                              .element_bytes = bytes,
                              .reserved = 0};
    Transfer transfer;
    uint64_t bad = 0;
    ASSERT_TRUE(transfer.SetFill(fill, base, memory.size(), &bad));
    RunAll(transfer);
    for (uint64_t i = 0; i < fill.width; ++i) {
      ASSERT_EQ(std::memcmp(&memory[8 + i * bytes], &fill.value, bytes), 0) << bytes << " at " << i;
    }
    EXPECT_EQ(memory[7], 0);
    EXPECT_EQ(memory[8 + fill.width * bytes], 0);
  }
}

}  // namespace
}  // namespace tutti::device::cpu
