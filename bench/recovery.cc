// recovery: how long a program waits for its next result on a GPU when its executor has been killed, with Tutti's own
// driver in the vendor's place. Each result is checked. Beside it the first result of a program that begins.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "device/gpu/gpu_backend.h"
#include "report.h"

namespace {

using namespace tutti;
using namespace tutti::device;

constexpr uint32_t kStream = 1;
constexpr std::string_view kAddOne = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 to) {
  .reg .u64 %a, %v;
  ld.param.u64 %a, [to];
  ld.global.u64 %v, [%a];
  add.u64 %v, %v, 1;
  st.global.u64 [%a], %v;
  ret;
}
)";

[[noreturn]] void GiveUp(const std::string& why) {
  std::fprintf(stderr, "recovery: %s\n", why.c_str());
  std::_Exit(1);
}

class WaitingSink final : public Sink {
 public:
  bool Completed(uint32_t, uint64_t ticket) override {
    done_.store(ticket, std::memory_order_release);
    return false;
  }
  void Wake(uint32_t) override {}
  void EventReached(uint32_t, uint64_t) override {}
  void HostCallReached(uint32_t, uint64_t, int32_t) override {}
  void Printed(std::string_view) override {}
  void AssertFailed(std::string_view) override {}
  void Faulted(uint32_t, const Fault& fault) override { GiveUp(fault.report); }
  void MemoryUsed(uint32_t, uint64_t) override {}
  void Await(uint64_t ticket) const {
    while (done_.load(std::memory_order_acquire) < ticket) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

 private:
  std::atomic<uint64_t> done_{0};
};

template <typename Value>
Value Must(Result<Value> result) {
  if (!result) GiveUp(result.error().text);
  return std::move(*result);
}

// With so many bytes in so many allocations, and a counter that a kernel raises, seen in pinned memory.
class Program {
 public:
  Program(Backend* backend, uint64_t allocations, uint64_t bytes)
      : space_(Must(backend->CreateSpace({}, &sink_, "recovery"))) {
    (void)space_->CreateStream(kStream, {.non_blocking = true});
    for (uint64_t i = 0; i < allocations; ++i)
      Must(space_->Allocate(0, wire::MemoryKind::kDevice, bytes / allocations, 0));
    counter_ = Must(space_->Allocate(0, wire::MemoryKind::kDevice, sizeof(uint64_t), 0));
    seen_ = Must(space_->Allocate(0, wire::MemoryKind::kHost, sizeof(uint64_t), 0));
    const uint32_t block[3] = {1, 1, 1};
    const uint32_t module =
        Must(space_->LoadModule(0, {reinterpret_cast<const uint8_t*>(kAddOne.data()), kAddOne.size()})).id;
    kernel_ = Must(space_->Prepare(module, 0, block)).id;
  }
  void NextResult() {
    const uint8_t* const argument = reinterpret_cast<const uint8_t*>(&counter_);
    (void)space_->Launch(kStream, ++ticket_, {.kernel = kernel_, .arguments = {argument, sizeof counter_}});
    constexpr uint64_t kBytes = sizeof(uint64_t);
    (void)space_->Copy(kStream, ++ticket_,
                       {.destination = seen_, .source = counter_, .row_bytes = kBytes, .rows = 1, .planes = 1});
    sink_.Await(ticket_);
    const uint64_t seen = *reinterpret_cast<const uint64_t*>(space_->Reached(seen_, sizeof(uint64_t)));
    if (seen != ++expected_) GiveUp("a wrong result: " + std::to_string(seen));
  }

 private:
  WaitingSink sink_;
  const std::unique_ptr<Space> space_;
  uint64_t counter_ = 0, seen_ = 0, expected_ = 0, ticket_ = 0;
  uint32_t kernel_ = 0;
};

class Executors {
 public:
  explicit Executors(const os::Spawner& spawner) : spawner_(std::to_string(spawner.pid())) {}

  // That of the only program, when the next one is ready. Returns when it has been killed, when it has ended: until
  // then it might begin the kernel that follows.
  uint64_t Kill() const {
    while (All().size() != 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it has its context
    const pid_t executor = All().front();
    const uint64_t begin_ns = NowNs();
    kill(executor, SIGKILL);
    for (auto all = All(); !all.empty() && all.front() == executor; all = All())
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    return begin_ns;
  }

 private:
  std::vector<pid_t> All() const {
    std::ifstream file("/proc/" + spawner_ + "/task/" + spawner_ + "/children");
    return {std::istream_iterator<pid_t>(file), {}};
  }
  const std::string spawner_;
};

double Ms(uint64_t begin_ns) { return static_cast<double>(NowNs() - begin_ns) / 1e6; }

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  setenv("TUTTI_CPU_MEMORY", "3G", 1);
  const gpu::GpuSettings settings{.executor = TUTTI_EXECUTOR, .vendor = TUTTI_LIBCUDA};
  const auto spawner = Must(os::Spawner::Start({settings.ProgramOf()}));
  const auto backend = Must(gpu::CreateGpuBackend(settings, spawner));
  const Executors executors(*spawner);
  constexpr uint64_t kGiB = 1ull << 30;
  bench::Report report("recovery", "aim: at most 100 ms from the end of an executor to the next result, none wrong");
  const struct {
    const char* name;
    uint64_t allocations, bytes;
    int rounds;
  } kCases[] = {
      {"Next result after the executor's end, p50 of 200", 16, 16 << 10, 200},
      {"... with 1 GiB in 100 allocations, p50 of 30", 100, kGiB, 30},
  };
  for (const auto& one : kCases) {
    std::vector<double> first, next;
    for (int i = 0; i < 5; ++i) {
      const uint64_t begin_ns = NowNs();
      Program program(backend.get(), one.allocations, one.bytes);
      program.NextResult();
      first.push_back(Ms(begin_ns));
      std::this_thread::sleep_for(std::chrono::milliseconds(300));  // another executor is ready for the next one
    }
    Program program(backend.get(), one.allocations, one.bytes);
    program.NextResult();
    for (int round = 0; round < one.rounds; ++round) {
      const uint64_t begin_ns = executors.Kill();
      program.NextResult();
      next.push_back(Ms(begin_ns));
    }
    const bench::Statistics recovery = bench::Summarize(next), start = bench::Summarize(first);
    const double ratio = recovery.median / start.median;
    report.Add({one.name, recovery.median, "ms", start.median, "first result of a program", ratio, recovery.spread});
  }
  return report.Finish(out);
}
