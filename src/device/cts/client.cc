#include "device/cts/client.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "device/cts/images.h"
#include "wire/limits.h"

namespace tutti::device::cts {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

}  // namespace

void RecordingSink::Wake(uint32_t) {}

bool RecordingSink::Completed(uint32_t stream, uint64_t ticket) {
  std::lock_guard lock(mutex_);
  uint64_t& done = done_[stream];
  if (ticket + 1 < done) went_backwards_ = true;
  done = ticket + 1;
  changed_.notify_all();
  return false;
}

void RecordingSink::EventReached(uint32_t event, uint64_t now_ns) {
  std::lock_guard lock(mutex_);
  events_[event] = now_ns;
  changed_.notify_all();
}

void RecordingSink::HostCallReached(uint32_t stream, uint64_t token, int32_t status) {
  std::lock_guard lock(mutex_);
  host_calls_.push_back({stream, token, status});
  changed_.notify_all();
}

void RecordingSink::Printed(std::string_view text) {
  std::lock_guard lock(mutex_);
  printed_ += text;
  changed_.notify_all();
}

void RecordingSink::AssertFailed(std::string_view line) {
  std::lock_guard lock(mutex_);
  asserted_ += line;
}

void RecordingSink::Faulted(uint32_t device, const device::Fault& fault) {
  std::lock_guard lock(mutex_);
  faults_.push_back({device, fault.status, fault.report});
  changed_.notify_all();
}

void RecordingSink::Recovered(uint32_t) {
  std::lock_guard lock(mutex_);
  ++recoveries_;
}

void RecordingSink::LetGo(std::function<void()> close) {
  {
    std::lock_guard lock(mutex_);
    if (holds_) return let_go_.push_back(std::move(close));
  }
  close();
}

void RecordingSink::HoldWhatIsLetGo() {
  std::lock_guard lock(mutex_);
  holds_ = true;
}

void RecordingSink::CloseWhatWasLetGo() {
  std::vector<std::function<void()>> all;
  {
    std::lock_guard lock(mutex_);
    holds_ = false;
    all.swap(let_go_);
  }
  for (const auto& close : all) close();
}

void RecordingSink::MemoryUsed(uint32_t device, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  memory_[device] = bytes;
  changed_.notify_all();
}

template <typename Condition>
bool RecordingSink::WaitFor(Condition condition) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, condition);
}

bool RecordingSink::IsDone(uint32_t stream, uint64_t ticket) const {
  std::lock_guard lock(mutex_);
  const auto found = done_.find(stream);
  return found != done_.end() && found->second > ticket;
}

bool RecordingSink::WaitDone(uint32_t stream, uint64_t ticket) const {
  return WaitFor([&] {
    const auto found = done_.find(stream);
    return found != done_.end() && found->second > ticket;
  });
}

bool RecordingSink::WaitHostCalls(size_t count) const {
  return WaitFor([&] { return host_calls_.size() >= count; });
}

bool RecordingSink::WaitFaults(size_t count) const {
  return WaitFor([&] { return faults_.size() >= count; });
}

bool RecordingSink::WaitMemory(uint32_t device, uint64_t used_bytes) const {
  return WaitFor([&] {
    const auto used = memory_.find(device);
    return used_bytes == (used == memory_.end() ? 0 : used->second);
  });
}

bool RecordingSink::WaitPrinted(std::string_view text) const {
  return WaitFor([&] { return printed_ == text; });
}

uint64_t RecordingSink::event_ns(uint32_t event) const {
  std::lock_guard lock(mutex_);
  const auto found = events_.find(event);
  return found == events_.end() ? 0 : found->second;
}

std::vector<RecordingSink::HostCall> RecordingSink::host_calls() const {
  std::lock_guard lock(mutex_);
  return host_calls_;
}

std::vector<RecordingSink::Fault> RecordingSink::faults() const {
  std::lock_guard lock(mutex_);
  return faults_;
}

std::string RecordingSink::printed() const {
  std::lock_guard lock(mutex_);
  return printed_;
}

std::string RecordingSink::asserted() const {
  std::lock_guard lock(mutex_);
  return asserted_;
}

uint64_t RecordingSink::memory_used(uint32_t device) const {
  std::lock_guard lock(mutex_);
  const auto found = memory_.find(device);
  return found == memory_.end() ? 0 : found->second;
}

size_t RecordingSink::recoveries() const {
  std::lock_guard lock(mutex_);
  return recoveries_;
}

bool RecordingSink::went_backwards() const {
  std::lock_guard lock(mutex_);
  return went_backwards_;
}

Client::Client(Backend* backend, const Limits& limits, std::string_view label) {
  Limits own = limits;
  if (own.sharers.empty()) own.sharers = sharers_of_clients;
  auto space = backend->CreateSpace(own, &sink_, label);
  TUTTI_CHECK(space.has_value());
  space_ = std::move(*space);
}

void Client::CreateStream(uint32_t stream, StreamOptions options) {
  TUTTI_CHECK(space_->CreateStream(stream, options).has_value());
}

// Or ends the tests, and says why.
uint64_t Client::MustAllocate(wire::MemoryKind kind, uint64_t bytes, uint64_t alignment) {
  const auto address = space_->Allocate(0, kind, bytes, alignment);
  if (address) return *address;
  fmt::print(stderr, "no memory of {} bytes: {}\n", bytes, address.error().text);
  for (const RecordingSink::Fault& fault : sink_.faults()) fmt::print(stderr, "a fault before: {}\n", fault.report);
  std::abort();
}

uint64_t Client::Allocate(uint64_t bytes) { return MustAllocate(wire::MemoryKind::kDevice, bytes, 256); }

uint64_t Client::Staging(uint64_t bytes) {
  if (bytes > staging_bytes_) {
    staging_ = MustAllocate(wire::MemoryKind::kHost, bytes, 4096);
    staging_bytes_ = bytes;
  }
  return staging_;
}

void Client::CopyNow(uint64_t destination, uint64_t source, uint64_t bytes) {
  if (!has_stream_) CreateStream(kOwnStream);
  has_stream_ = true;
  const wire::CopyBody copy{.destination = destination, .source = source, .row_bytes = bytes, .rows = 1, .planes = 1};
  const uint64_t ticket = next_ticket();
  TUTTI_CHECK(space_->Copy(kOwnStream, ticket, copy).has_value());
  TUTTI_CHECK(sink_.WaitDone(kOwnStream, ticket));
}

void Client::Write(uint64_t address, std::span<const uint8_t> bytes) {
  const uint64_t staged = Staging(bytes.size());
  std::memcpy(space_->Reached(staged, bytes.size()), bytes.data(), bytes.size());
  CopyNow(address, staged, bytes.size());
}

std::vector<uint8_t> Client::Read(uint64_t address, uint64_t bytes) {
  const uint64_t staged = Staging(bytes);
  CopyNow(staged, address, bytes);
  const uint8_t* const begin = space_->Reached(staged, bytes);
  return {begin, begin + bytes};
}

bool Client::Computes() {
  const uint64_t counter = Allocate(sizeof(uint32_t));
  const auto module = space().LoadModule(0, {reinterpret_cast<const uint8_t*>(kAdd.data()), kAdd.size()});
  if (!module) return false;
  const uint32_t block[3] = {64, 1, 1};
  const auto kernel = space().Prepare(module->id, 0, block);
  if (!kernel) return false;
  Launch(1, kernel->id, 4, 64, {counter, 3, 0, 0});
  return Synchronize(1) && ReadValue<uint32_t>(counter) == 4 * 64 * 3;
}

uint32_t Client::Kernel(std::string_view image, uint32_t device) {
  const auto key = std::pair(device, std::string(image));
  if (const auto found = kernels_.find(key); found != kernels_.end()) return found->second;
  const auto module = space_->LoadModule(device, {reinterpret_cast<const uint8_t*>(image.data()), image.size()});
  TUTTI_CHECK(module.has_value());
  const uint32_t any_shape[3] = {0, 0, 0};
  const auto prepared = space_->Prepare(module->id, 0, any_shape);
  TUTTI_CHECK(prepared.has_value());
  return kernels_[key] = prepared->id;
}

uint64_t Client::LaunchGrid(uint32_t stream, Grid grid, const std::vector<uint64_t>& arguments) {
  grid.arguments = {reinterpret_cast<const uint8_t*>(arguments.data()), arguments.size() * sizeof(uint64_t)};
  const uint64_t ticket = next_ticket();
  TUTTI_CHECK(space_->Launch(stream, ticket, grid).has_value());
  return ticket;
}

uint64_t Client::Launch(uint32_t stream, uint32_t kernel, uint32_t blocks, uint32_t threads,
                        std::vector<uint64_t> arguments, bool cooperative, uint32_t dynamic_shared_bytes) {
  constexpr size_t kArguments = 4;  // of every kernel of the tests
  arguments.resize(kArguments);
  Grid grid;
  grid.kernel = kernel;
  grid.grid[0] = blocks;
  grid.block[0] = threads;
  grid.cooperative = cooperative;
  grid.dynamic_shared_bytes = dynamic_shared_bytes;
  return LaunchGrid(stream, grid, arguments);
}

uint64_t Client::Mark(uint32_t stream) {
  const uint64_t ticket = next_ticket();
  TUTTI_CHECK(space_->Mark(stream, ticket).has_value());
  return ticket;
}

}  // namespace tutti::device::cts
