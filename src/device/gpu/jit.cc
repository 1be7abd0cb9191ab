#include "device/gpu/jit.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "cuda/device_attribute.h"
#include "cuda/result.h"
#include "device/compile/compiler_identity.h"
#include "os/memory.h"
#include "os/thread.h"

namespace tutti::device::gpu {
namespace {

constexpr uint64_t kMostNs = 60'000'000'000;  // of one text
constexpr uint64_t kIdleNs = 10'000'000'000;
constexpr std::chrono::milliseconds kLook{10};  // while somebody compiles

std::span<const uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

CacheKey IdentityOf(const std::string& vendor, const wire::DeviceInfo& device) {
  return KeyBuilder()
      .Add("jit")
      .Add(CompilerIdentity(vendor))
      .Add(static_cast<uint64_t>(device.attributes[cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR]))
      .Add(static_cast<uint64_t>(device.attributes[cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR]))
      .Add(std::string_view(device.name))
      .Finish();
}

}  // namespace

Jit::Jit(const CodeSettings& settings, const std::string& vendor, const wire::DeviceInfo& device,
         std::shared_ptr<os::Spawner> spawner)
    : cache_(settings.cache_folder, settings.cache_bytes),
      made_by_(IdentityOf(vendor, device)),
      spawner_(std::move(spawner)) {
  thread_ = os::StartThread("gpu-jit", [this] { Watch(); });
}

Jit::~Jit() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

CacheKey Jit::KeyOf(std::string_view text, const std::string& group) const {
  return KeyBuilder().Add(made_by_).Add(group).Add(text).Finish();
}

Result<std::shared_ptr<const Jit::Code>> Jit::Compile(std::string_view text, const std::string& group,
                                                      const Cancelled& cancelled) {
  const CacheKey key = KeyOf(text, group);
  return works_.Get(key, cancelled, [&]() -> SharedWork<Code>::Outcome {
    if (auto entry = cache_.Find(key)) return std::make_shared<Code>(std::move(entry->bytes));
    TUTTI_ASSIGN(Code code, CompileNow(text, group, cancelled));
    if (!cache_.path().empty()) {
      if (const auto stored = cache_.Store(key, code); !stored)
        log::Warning("code cache: {}; going on without", stored.error().text);
    }
    return std::make_shared<Code>(std::move(code));
  });
}

Result<Jit::Code> Jit::CompileNow(std::string_view text, const std::string& group, const Cancelled& cancelled) {
  TUTTI_ASSIGN(const os::Fd file, os::CreateMemoryOf("tutti-text", BytesOf(text)));
  TUTTI_ASSIGN(const Run run, Begin(group, cancelled));
  const std::shared_ptr<ExecutorLink> link = run->link;
  auto reply = link->Ask({.kind = executor::RequestKind::kCompile}, file.get());
  auto code =
      reply ? os::Mapping::Constant(reply->file.get(), executor::kMostCodeBytes) : std::unexpected(reply.error());
  if (reply && !code) link->Kill();  // who says what cannot be is not asked again
  const bool late = NowNs() >= run->until_ns;
  End(run);
  if (cancelled.load(std::memory_order_relaxed)) return Fail(SharedWork<Code>::kCancelled, "nobody waits for it");
  if (!reply && link->HasEnded()) {
    const std::string words = link->executor()->LastWords();
    return Fail(cuda::CUDA_ERROR_INVALID_PTX,
                late ? "the GPU's driver has compiled the module for a minute, and was ended"
                     : "the GPU's driver has ended as it compiled the module" + (words.empty() ? "" : ": " + words));
  }
  if (!reply) return std::unexpected(reply.error());
  if (!code) return Fail(cuda::CUDA_ERROR_UNKNOWN, "the driver's code of the module: " + code.error().text);
  return Code(code->data(), code->data() + code->size());
}

bool Jit::HasRoomFor(const std::string& group, const Cancelled& cancelled) const {
  const auto of_group = std::ranges::count(running_, group, &Running::group);
  const auto of_client = std::ranges::count(running_, &cancelled, &Running::cancelled);
  return running_.size() < kMost && std::cmp_less(of_group, kMostOfGroup) && std::cmp_less(of_client, kMostOfClient);
}

// Waits for one that compiles nothing, or starts one.
Result<Jit::Run> Jit::Begin(const std::string& group, const Cancelled& cancelled) {
  std::unique_lock lock(mutex_);
  while (!HasRoomFor(group, cancelled)) {
    if (cancelled.load(std::memory_order_relaxed)) return Fail(SharedWork<Code>::kCancelled, "nobody waits for it");
    changed_.wait_for(lock, kLook);
  }
  const auto run =
      running_.insert(running_.end(), {.group = group, .cancelled = &cancelled, .until_ns = ~0ull, .link = nullptr});
  std::shared_ptr<ExecutorLink> link, unused;
  if (const auto found = std::ranges::find(idle_, group, &Idle::group); found != idle_.end()) {
    link = std::move(found->link);
    idle_.erase(found);
  } else if (running_.size() + idle_.size() > kMost) {
    unused = std::move(idle_.front().link);
    idle_.erase(idle_.begin());
  }
  lock.unlock();
  unused = nullptr;
  Status started;
  if (link == nullptr || link->HasEnded()) {
    link = nullptr;
    const auto process = ExecutorProcess::Start(spawner_);
    auto entered = process ? ExecutorLink::Enter(*process, executor::kCompiles) : std::unexpected(process.error());
    if (entered)
      link = std::move(*entered);
    else
      started = std::unexpected(entered.error());
  }
  lock.lock();
  if (!started) {
    running_.erase(run);
    changed_.notify_all();
    return std::unexpected(started.error());
  }
  run->link = std::move(link);
  run->until_ns = NowNs() + kMostNs;
  changed_.notify_all();
  return run;
}

void Jit::End(Run run) {
  {
    std::lock_guard lock(mutex_);
    if (!run->link->HasEnded())
      idle_.push_back({.group = run->group, .link = std::move(run->link), .since_ns = NowNs()});
    running_.erase(run);
  }
  changed_.notify_all();
}

void Jit::Watch() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (!running_.empty())
      changed_.wait_for(lock, kLook);
    else if (!idle_.empty())
      changed_.wait_for(lock, std::chrono::nanoseconds(kIdleNs / 4));
    else
      changed_.wait(lock);
    const uint64_t now_ns = NowNs();
    for (const Running& running : running_) {
      if (running.link != nullptr && (running.cancelled->load(std::memory_order_relaxed) || now_ns >= running.until_ns))
        running.link->Kill();
    }
    std::erase_if(idle_, [now_ns](const Idle& idle) { return now_ns - idle.since_ns >= kIdleNs; });
  }
}

}  // namespace tutti::device::gpu
