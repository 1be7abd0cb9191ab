// Makes huge pages of the memory that clients have just allocated, on a thread of its own: who allocates does not wait
// for it, and neither do others. It goes from window to window, a page of each in turn, so that nobody's gigabytes come
// before another's first page. Where the system has none, it pauses.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

namespace tutti::device::cpu {

// Thread-safe.
class HugePageMaker {
 public:
  // A window's memory.
  class Memory {
   public:
    // kNoneYet: it has some later. kRefused: by the system.
    enum class Made : uint8_t { kAllThatWaited, kOneOfMore, kNoneYet, kRefused };
    // Makes the next of its huge pages. On the maker's thread.
    virtual Made MakeOne() = 0;

   protected:
    ~Memory() = default;
  };

  // `nice`: of its thread, as of the SMs'. `works`: whether it should do anything. On machines with several memory
  // nodes it should not: memory lies near to the thread that touches it first, which is to be the SM that uses it.
  HugePageMaker(uint32_t nice, bool works);
  ~HugePageMaker();

  // False: there is no use in having memory wait.
  bool works() const;
  // The memory has a page to be made. Until Remove, which waits for a page of it that is being made.
  void Add(Memory* memory);
  void Remove(Memory* memory);

 private:
  void Loop();

  std::atomic<uint64_t> works_from_ns_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Memory*> waiting_;
  Memory* current_ = nullptr;
  bool added_again_ = false;  // current_ was
  bool leaves_ = false;  // current_ is removed: else its next page would be begun before Remove has the lock
  bool stopping_ = false;
  std::thread thread_;  // not joinable: it does nothing
};

}  // namespace tutti::device::cpu
