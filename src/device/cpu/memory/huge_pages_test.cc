// Huge pages, and the thread that makes them for what clients allocate.
#include "device/cpu/memory/huge_pages.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "device/cpu/memory/huge_page_maker.h"
#include "device/cpu/memory/window_extent.h"
#include "os/memory.h"
#include "wire/limits.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kMiB = 1 << 20, kWindowBytes = 1024 * kMiB;
constexpr uint64_t kWindow = wire::kWindowArenaEnd - 2 * kWindowBytes;

// Of the mapping that begins there, in bytes.
uint64_t HugeBytesAt(uint64_t address) {
  std::ifstream file("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(file, line);) {
    uint64_t begin = 0, kib = 0;
    char dash = 0;
    if (sscanf(line.c_str(), "%lx%c", &begin, &dash) == 2 && dash == '-') is_here = begin == address;
    if (is_here && sscanf(line.c_str(), "ShmemPmdMapped: %lu kB", &kib) == 1) return kib << 10;
  }
  return 0;
}

TEST(HugePages, HoldWhatWasThereAndZeros) {
  const os::Fd fd = os::CreateMemory("window", kWindowBytes).value();
  const os::Mapping mapping = os::Mapping::SharedAt(kWindow, fd.get(), kWindowBytes).value();
  ASSERT_TRUE(WindowExtent::Close(kWindow, kWindowBytes));
  WindowExtent extent(kWindow, kWindowBytes, fd.get(), kWindow);
  ASSERT_TRUE(extent.Open(kWindow, kWindow + 8 * kMiB));
  auto* const bytes = reinterpret_cast<uint8_t*>(kWindow);
  std::memset(bytes + 3 * kMiB, 7, kMiB / 2);
  const uint64_t until_ns = NowNs() + 10'000'000'000;
  while (MakeHugePage(kWindow + 2 * kMiB) && HugeBytesAt(kWindow) == 0 && NowNs() < until_ns) (void)bytes[2 * kMiB];
  if (HugeBytesAt(kWindow) == 0) GTEST_SKIP() << "this system makes no huge pages of memory files when asked to";
  for (uint64_t i = 0; i < 8 * kMiB; ++i) {
    const bool written = i >= 3 * kMiB && i < 3 * kMiB + kMiB / 2;
    ASSERT_EQ(bytes[i], written ? 7 : 0) << i;
  }
}

// Memory with pages to make, which are not made before it is told to go on.
struct Pages final : HugePageMaker::Memory {
  explicit Pages(int pages) : waiting(pages) {}
  Made MakeOne() override {
    begun.store(true);
    begun.notify_all();
    go_on.wait(false);
    if (takes.count() != 0) std::this_thread::sleep_for(takes);
    if (order != nullptr) order->push_back(this);
    ++made;
    made.notify_all();
    if (refuses) return Made::kRefused;
    if (made <= late) return Made::kNoneYet;
    return --waiting > 0 ? Made::kOneOfMore : Made::kAllThatWaited;
  }
  void GoOn() {
    go_on.store(true);
    go_on.notify_all();
  }
  void AwaitMade(int pages) const {
    for (int now = made; now < pages; now = made) made.wait(now);
  }
  int waiting;
  bool refuses = false;
  int late = 0;  // how often it says that it has none yet
  std::chrono::milliseconds takes{0};
  std::vector<const Pages*>* order = nullptr;
  std::atomic<bool> begun = false, go_on = false;
  std::atomic<int> made = 0;
};

TEST(HugePageMaker, GoesFromMemoryToMemory) {
  std::vector<const Pages*> order;
  Pages first(3), second(3);
  HugePageMaker maker(0, true);
  ASSERT_TRUE(maker.works());
  for (Pages* const pages : {&first, &second}) {
    pages->order = &order;
    maker.Add(pages);
  }
  first.GoOn();
  second.GoOn();
  first.AwaitMade(3);
  second.AwaitMade(3);
  maker.Remove(&first);
  maker.Remove(&second);
  EXPECT_EQ(order, std::vector<const Pages*>({&first, &second, &first, &second, &first, &second}));
}

TEST(HugePageMaker, SeesWhatIsAddedWhileItMakesTheLast) {
  Pages pages(1);
  HugePageMaker maker(0, true);
  maker.Add(&pages);
  pages.begun.wait(false);
  maker.Add(&pages);  // what it allocates now, the page that is being made does not know
  pages.GoOn();
  pages.AwaitMade(2);
  maker.Remove(&pages);
}

TEST(HugePageMaker, ComesAgainForWhatIsLate) {
  Pages pages(1);
  pages.late = 3;
  pages.GoOn();
  HugePageMaker maker(0, true);
  maker.Add(&pages);
  pages.AwaitMade(4);
  maker.Remove(&pages);
  EXPECT_EQ(pages.waiting, 0);
}

TEST(HugePageMaker, LetsGoOfMemoryThatHasMore) {
  Pages pages(3000);
  pages.takes = std::chrono::milliseconds(1);
  pages.GoOn();
  HugePageMaker maker(0, true);
  maker.Add(&pages);
  pages.AwaitMade(1);
  maker.Remove(&pages);
  EXPECT_GT(pages.waiting, 0);
}

TEST(HugePageMaker, PausesWhereTheSystemHasNone) {
  Pages pages(2);
  pages.refuses = true;
  pages.GoOn();
  HugePageMaker maker(0, true);
  maker.Add(&pages);
  pages.AwaitMade(1);
  maker.Remove(&pages);
  EXPECT_EQ(pages.made, 1);
  EXPECT_FALSE(maker.works());
}

TEST(HugePageMaker, MayBeOff) { EXPECT_FALSE(HugePageMaker(0, false).works()); }

}  // namespace
}  // namespace tutti::device::cpu
