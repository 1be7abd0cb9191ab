#include "executor/print_fifo.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <utility>

#include "base/checked.h"
#include "guest/print_format.h"

namespace tutti::executor {
namespace {

using namespace cuda;

constexpr uint64_t kMask = guest::kPrintRingBytes - 1;
constexpr size_t kMostText = 256 << 10;  // that is made at once, or little more

// A record as memory, of which the addresses are offsets. None of them is 0.
class Record : public guest::GuestMemory {
 public:
  explicit Record(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool Read(uint64_t address, void* out, size_t bytes) const override {
    if (address < sizeof(guest::PrintHead) || !InRange(address, bytes, bytes_.size())) return false;
    std::memcpy(out, bytes_.data() + address, bytes);
    return true;
  }

 private:
  const std::span<const uint8_t> bytes_;
};

}  // namespace

void PrintFifo::Open(guest::PrintFifo* fifo, CUdeviceptr address) {
  fifo_ = fifo;
  address_ = address;
  consumed_ = 0;
  is_broken_ = false;
}

// Acquire pairs with the barrier before a record's length (compiler/fence/print_functions.cc).
std::vector<uint8_t> PrintFifo::TakeRecord() {
  if (fifo_ == nullptr || is_broken_) return {};
  auto* const word = reinterpret_cast<uint32_t*>(fifo_->ring + (consumed_ & kMask));
  const uint32_t bytes = std::atomic_ref(*word).load(std::memory_order_acquire);
  if (bytes == 0) return {};
  is_broken_ = bytes < sizeof(guest::PrintHead) || bytes % sizeof(uint64_t) != 0 || bytes > guest::kPrintRingBytes;
  if (is_broken_) return {};
  std::vector<uint8_t> record(bytes);
  const uint64_t place = consumed_ & kMask, to_end = std::min<uint64_t>(bytes, guest::kPrintRingBytes - place);
  std::memcpy(record.data(), fifo_->ring + place, to_end);
  std::memcpy(record.data() + to_end, fifo_->ring, bytes - to_end);
  std::memset(fifo_->ring + place, 0, to_end);
  std::memset(fifo_->ring, 0, bytes - to_end);
  consumed_ += bytes;
  std::atomic_ref(fifo_->consumed).store(consumed_, std::memory_order_release);
  return record;
}

PrintFifo::Texts PrintFifo::Take() {
  Texts texts;
  while (texts.printed.size() + texts.failed.size() < kMostText && texts.bytes < guest::kPrintRingBytes) {
    const std::vector<uint8_t> record = TakeRecord();
    if (record.empty()) break;
    texts.bytes += record.size();
    guest::PrintHead head;
    std::memcpy(&head, record.data(), sizeof head);
    const guest::PrintedText said = guest::FormatPrint(Record(record), sizeof head, head.arguments);
    const bool is_text = head.kind == static_cast<uint32_t>(guest::PrintKind::kText);
    (is_text ? texts.printed : texts.failed) += said.text;
  }
  return texts;
}

}  // namespace tutti::executor
