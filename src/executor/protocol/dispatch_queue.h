// The two ends of the ring of records (executor/protocol/dispatch.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "executor/protocol/exchange.h"
#include "os/futex.h"

namespace tutti::executor {

// The server's end. What finds no room waits here, as does all before there is an executor. Not thread-safe.
class DispatchWriter {
 public:
  explicit DispatchWriter(Exchange* exchange = nullptr) : exchange_(exchange) {}

  // Of a new executor.
  void Connect(Exchange* exchange) { exchange_ = exchange; }

  // `head.bytes` is set here. Published with Publish.
  template <typename Body>
  void Add(DispatchHead head, const Body& body, std::span<const uint8_t> more = {}) {
    head.bytes = static_cast<uint32_t>(sizeof head + sizeof body + more.size());
    if (waiting_.empty()) {
      if (uint8_t* const at = Room(head.bytes)) return Write(at, head, body, more);
    }
    std::vector<uint8_t> record(head.bytes);
    Write(record.data(), head, body, more);
    waiting_.push_back(std::move(record));
  }
  // Makes records visible, those that waited as far as there is room now, and wakes the executor.
  void Publish();
  bool waits() const { return !waiting_.empty(); }
  // The executor has said that it has taken more than there was.
  bool broken() const { return broken_; }

 private:
  template <typename Body>
  static void Write(uint8_t* at, const DispatchHead& head, const Body& body, std::span<const uint8_t> more) {
    std::memcpy(at, &head, sizeof head);
    std::memcpy(at + sizeof head, &body, sizeof body);
    if (!more.empty()) std::memcpy(at + sizeof head + sizeof body, more.data(), more.size());
  }
  // Where a record of so many bytes goes; null: no room.
  uint8_t* Room(uint32_t bytes);
  uint64_t FreeBytes();

  Exchange* exchange_;
  uint64_t tail_ = 0;
  uint64_t published_ = 0;
  uint64_t head_ = 0;
  bool broken_ = false;
  std::deque<std::vector<uint8_t>> waiting_;
};

// The executor's end. Not thread-safe.
class DispatchReader {
 public:
  explicit DispatchReader(Exchange* exchange) : exchange_(exchange), record_(kMostRecordBytes) {}

  // A copy of the next record, valid until the next call; empty if there is none. Fails if it is not one.
  Result<std::span<const uint8_t>> Next();
  bool HasNext() const { return exchange_->tail.load(std::memory_order_seq_cst) != head_; }

 private:
  Exchange* const exchange_;
  uint64_t head_ = 0;
  std::vector<uint8_t> record_;
};

}  // namespace tutti::executor
