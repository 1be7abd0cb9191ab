#include "device/gpu/executor_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "cuda/device_attribute.h"
#include "cuda/result.h"
#include "executor/protocol/request.h"
#include "os/lifeline.h"
#include "os/memory.h"
#include "os/pidfd.h"
#include "os/socket.h"

namespace tutti::device::gpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kWordsBytes = 4096;

// Limits that others divide by, or index with.
Status PutRight(wire::DeviceInfo* device) {
  const int sms = device->attributes[cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT];
  constexpr uint64_t kMostBytes = 1ull << 42;
  if (sms <= 0 || device->total_bytes == 0 || device->total_bytes > kMostBytes)
    return Fail(cuda::CUDA_ERROR_INVALID_DEVICE,
                fmt::format("a device of {} SMs and {} bytes", sms, device->total_bytes));
  device->name[sizeof device->name - 1] = '\0';
  device->traits = wire::kDeviceAnyShape | wire::kDeviceAsksOccupancy | wire::kDeviceNoArrays |
                   wire::kDeviceMakesArrays | wire::kDeviceMachineCode | wire::kDeviceEndsKernels |
                   wire::kDevicePercentages | wire::kDevicePriorities | wire::kDeviceNeedsPoints;
  device->sm_group = std::clamp<uint32_t>(device->sm_group, 1, static_cast<uint32_t>(sms));
  device->most_urgent = std::clamp(device->most_urgent, -5, 0);
  return {};
}

}  // namespace

Result<std::shared_ptr<ExecutorProcess>> ExecutorProcess::Start(std::shared_ptr<os::Spawner> spawner) {
  TUTTI_ASSIGN(auto control, os::SocketPair());
  os::RefuseDescriptors(control.first.get());
  TUTTI_ASSIGN(os::Lifeline lifeline, os::CreateLifeline());
  TUTTI_ASSIGN(os::Fd words, os::CreateMemory("tutti-executor-stderr", kWordsBytes));
  const int fds[] = {lifeline.watched.get(), control.second.get(), words.get()};
  const auto pid = spawner->StartProgram(0, fds);
  if (!pid) return Fail(cuda::CUDA_ERROR_SYSTEM_NOT_READY, "an executor cannot be started: " + pid.error().text);
  // Ended or not, it keeps its number until the spawner is told to reap it.
  auto process = os::OpenPidfd(*pid);
  if (!process) {
    spawner->Abandon(*pid);
    return std::unexpected(process.error());
  }
  std::shared_ptr<ExecutorProcess> started(new ExecutorProcess(std::move(spawner), *pid,
                                                               {.control = std::move(control.first),
                                                                .process = std::move(*process),
                                                                .lifeline = std::move(lifeline.held),
                                                                .words = std::move(words)}));
  control.second.Reset();
  TUTTI_TRY(started->AwaitHello());
  return started;
}

ExecutorProcess::~ExecutorProcess() {
  {
    std::lock_guard lock(mutex_);
    Kill();
  }
  spawner_->Abandon(pid_);
}

// Before it has a client it says what we have written, and nothing later: so closing its socket waits for nobody.
Status ExecutorProcess::AwaitHello() {
  TUTTI_ASSIGN(const std::vector<uint8_t> bytes, os::ReceiveBytes(control_.get(), kStartTimeoutMs));
  if (shutdown(control_.get(), SHUT_RD) != 0) return FailErrno("shutdown", cuda::CUDA_ERROR_OPERATING_SYSTEM);
  if (bytes.empty()) {
    const std::string words = LastWords();
    return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE,
                "an executor has ended as it started" + (words.empty() ? words : ": " + words));
  }
  TUTTI_ASSIGN(const executor::Hello hello, executor::ParseHello(bytes));
  if (hello.status != 0) return Fail(hello.status, hello.text);
  unconfined_ = Printable(hello.text);
  device_ = hello.device;
  return PutRight(&device_);
}

Status ExecutorProcess::Enter(std::span<const int> files, uint32_t flags) {
  std::lock_guard lock(mutex_);
  if (!lifeline_ || !takes_clients_) return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, "the executor is to end");
  const auto sent =
      os::TrySend(control_.get(), executor::Serialize({.kind = executor::RequestKind::kEnter, .flags = flags}), files);
  if (!sent) return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, "the executor takes no client: " + sent.error().text);
  if (!*sent) return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, "the executor does not take its clients");
  ++clients_;
  return {};
}

void ExecutorProcess::Leave() {
  std::lock_guard lock(mutex_);
  if (--clients_ == 0) Kill();
}

// Upon which the kernel kills it.
void ExecutorProcess::Kill() { lifeline_.Reset(); }

void ExecutorProcess::TakeNoMore() {
  std::lock_guard lock(mutex_);
  takes_clients_ = false;
}

void ExecutorProcess::HaveClientsLeave() {
  TakeNoMore();
  is_to_be_left_.store(true, std::memory_order_relaxed);
}

void ExecutorProcess::End() {
  std::lock_guard lock(mutex_);
  Kill();
}

bool ExecutorProcess::takes_clients() const {
  std::lock_guard lock(mutex_);
  return takes_clients_ && lifeline_ && !os::HungUp(control_.get());
}

bool ExecutorProcess::is_shared() const {
  std::lock_guard lock(mutex_);
  return clients_ > 1;
}

bool ExecutorProcess::HasEnded() const {
  std::lock_guard lock(mutex_);
  return !lifeline_ || os::HungUp(control_.get());
}

std::string ExecutorProcess::LastWords() const {
  char bytes[kWordsBytes];
  const ssize_t got = pread(words_.get(), bytes, sizeof bytes, 0);
  std::string_view text(bytes, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  text = text.substr(0, text.find('\0'));
  while (text.ends_with('\n')) text.remove_suffix(1);
  text = text.substr(text.rfind('\n') + 1);
  const bool is_text = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  return is_text ? std::string(text) : "";
}

bool PlaceEnd::ExecutorEnds() const {
  const auto of = of_.lock();
  return of == nullptr || of->HasEnded();
}

// The place has said so. A process that is killed says nothing, and closes this file before others that hold memory.
bool PlaceEnd::IsGivenBack() const {
  pollfd look{over_->get(), POLLIN, 0};
  return poll(&look, 1, 0) > 0 && (look.revents & POLLIN) != 0 && !ExecutorEnds();
}

bool PlaceEnd::IsOver() const { return IsGivenBack() || os::AwaitEnd(process_->get(), 0); }

bool PlaceEnd::Await(int timeout_ms) const {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  const auto left_ms = [&] {
    return std::max(static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count()), 0);
  };
  return os::AwaitEnd(over_->get(), left_ms()) && (IsGivenBack() || os::AwaitEnd(process_->get(), left_ms()));
}

void PlaceEnd::EndExecutor() const {
  if (const auto of = of_.lock()) of->End();
}

void PlaceEnd::HaveOthersLeave() const {
  if (const auto of = of_.lock()) of->HaveClientsLeave();
}

}  // namespace tutti::device::gpu
