#include "compiler/testing/run_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "guest/exec/block_run.h"
#include "guest/exec/guest_thread.h"
#include "guest/exec/sanitizers.h"
#include "guest/print_format.h"

namespace tutti::compiler {
namespace {

using guest::BlockRun;
using guest::GuestMemory;
using guest::LeaveReason;

constexpr uint64_t kWholeProcess = 1ull << 47;

// Where the window is the whole process, a string is read with what lies behind it, in pieces: memory of others, which
// address sanitizers would report.
class ProcessMemory final : public GuestMemory {
 public:
  TUTTI_NO_SANITIZE bool Read(uint64_t address, void* out, size_t bytes) const override {
    const auto* const from = reinterpret_cast<const volatile char*>(address);
    for (size_t i = 0; i < bytes; ++i) static_cast<volatile char*>(out)[i] = from[i];
    return true;
  }
};

class Host final : public guest::KernelHost {
 public:
  // Of the window's begin, so much may be touched when kernels ask.
  Host(uint64_t window_base, uint64_t window_bytes, uint64_t reach)
      : window_base_(window_base), window_bytes_(window_bytes), reach_(reach) {}

  int32_t Print(const GuestMemory& memory, uint64_t format, uint64_t arguments) override {
    const guest::PrintedText printed = guest::FormatPrint(WindowOf(memory), format, arguments);
    output += printed.text;
    return printed.arguments;
  }
  uint64_t HeapAllocate(uint64_t bytes) override {
    heap_.push_back(std::make_unique<std::max_align_t[]>(bytes / sizeof(std::max_align_t) + 1));
    return reinterpret_cast<uint64_t>(heap_.back().get());
  }
  void HeapRelease(uint64_t) override {}  // with the run
  bool SetCondition(uint64_t, uint32_t) override { return false; }  // there are no graphs
  void AssertFailed(const GuestMemory& memory, const Assertion& a) override {
    const auto text = [&window = WindowOf(memory)](uint64_t address) {
      return guest::ReadGuestString(window, address, 1024);
    };
    assertion =
        fmt::format("{}:{}: {}: Assertion `{}` failed.", text(a.file), a.line, text(a.function), text(a.message));
  }
  bool MayTouch(uint64_t address, uint64_t bytes, bool) const override {
    return InRange(address - window_base_, bytes, reach_);
  }

  std::string output;
  std::string assertion;

 private:
  const GuestMemory& WindowOf(const GuestMemory& memory) const {
    static const ProcessMemory process;
    return window_bytes_ == kWholeProcess ? process : memory;
  }

  const uint64_t window_base_;
  const uint64_t window_bytes_;
  const uint64_t reach_;
  std::vector<std::unique_ptr<std::max_align_t[]>> heap_;
};

GuestFault Describe(const BlockRun& run, const guest::FaultRecord& record) {
  const guest::KernelDescriptor& kernel = run.descriptor();
  GuestFault fault{.kind = run.KindOf(record), .address = record.address, .text = record.text, .lanes = record.lanes};
  std::copy_n(run.state().ctaid, 3, fault.ctaid.begin());
  if (record.warp < guest::kMaxWarps) fault.thread = record.warp * guest::kWarpSize + record.lane;
  if (record.location < kernel.location_count) fault.ptx_line = kernel.locations[record.location].ptx_line;
  return fault;
}

// Blocks that are resident together, in turns: takes each out of `runs` that has ended. False: one has failed.
bool RunToTheEnd(guest::GuestThread& thread, std::vector<BlockRun*>& runs, GridResult* result) {
  std::vector<BlockRun*> at_grid_barrier;
  while (!runs.empty()) {
    for (size_t i = 0; i < runs.size();) {
      BlockRun* const run = runs[i];
      switch (run->Run(&thread)) {
        case LeaveReason::kFault:
        case LeaveReason::kSignal:
          result->fault = Describe(run->running_block(), thread.fault);
          for (BlockRun* left : runs) left->GiveUp();
          for (BlockRun* left : at_grid_barrier) left->GiveUp();
          return false;
        case LeaveReason::kYielded:
          ++result->yields;
          ++i;
          continue;
        case LeaveReason::kGridBarrier: at_grid_barrier.push_back(run); break;
        default: break;  // it has finished
      }
      runs.erase(runs.begin() + static_cast<ptrdiff_t>(i));
    }
    if (!runs.empty()) continue;
    for (BlockRun* run : at_grid_barrier) run->PassGridBarrier();
    runs = std::exchange(at_grid_barrier, {});
  }
  return true;
}

// Two codes, of which now one, now the other is the newer.
class Codes {
 public:
  Codes(const guest::KernelDescriptor& kernel, const guest::KernelDescriptor& newer, NewerCode when)
      : when_(when), codes_{kernel, newer} {
    if (when == NewerCode::kNowAndThen)
      now_and_then_ = std::jthread([this](const std::stop_token& stop) { Change(stop); });
  }

  const guest::KernelDescriptor* first() const { return codes_.data(); }
  const std::atomic<const guest::KernelDescriptor*>* newest() const {
    return when_ == NewerCode::kNever ? nullptr : &newest_;
  }
  void BlockBegins(const BlockRun& run) {
    began_with_ = &run.descriptor();
    if (when_ == NewerCode::kAtOnce) newest_ = OtherThan(began_with_);
  }
  bool BlockBeganAnew(const BlockRun& run) const { return &run.descriptor() != began_with_; }

 private:
  const guest::KernelDescriptor* OtherThan(const guest::KernelDescriptor* code) const {
    return &codes_[code == codes_.data() ? 1 : 0];
  }
  // A few times: a block that takes longer than that would begin anew for ever.
  void Change(const std::stop_token& stop) {
    for (unsigned i = 0; i < 40 && !stop.stop_requested(); ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(1 + i % 7 * 40));
      newest_ = OtherThan(newest_);
    }
  }

  const NewerCode when_;
  const std::array<guest::KernelDescriptor, 2> codes_;
  std::atomic<const guest::KernelDescriptor*> newest_ = codes_.data();
  const guest::KernelDescriptor* began_with_ = nullptr;
  std::jthread now_and_then_;
};

}  // namespace

GridResult RunGrid(const guest::KernelDescriptor& descriptor, const GridLaunch& launch) {
  guest::KernelDescriptor kernel = descriptor;
  kernel.stack_bytes += launch.spare_stack_bytes;
  const bool are_together = launch.cooperative || launch.cluster != std::array<uint32_t, 3>{1, 1, 1};
  Codes codes(kernel, launch.newer != nullptr ? *launch.newer : kernel,
              are_together ? NewerCode::kNever : launch.newer_code);
  const uint64_t window_bytes = launch.window_bytes != 0 ? launch.window_bytes : kWholeProcess;
  const uint64_t reach = launch.window_reach != 0 ? launch.window_reach : window_bytes;
  const std::atomic<uint64_t> reach_begin = launch.window_base, reach_end = launch.window_base + reach;
  Host host(launch.window_base, window_bytes, launch.window_reach_now != 0 ? launch.window_reach_now : reach);
  guest::KernelLaunch grid{.descriptor = codes.first(),
                           .newest = codes.newest(),
                           .host = &host,
                           .dynamic_shared_bytes = launch.dynamic_shared_bytes,
                           .params = launch.params.data(),
                           .module_base = launch.module_base,
                           .constants_base = launch.module_base,
                           .window_base = launch.window_base,
                           .window_bytes = window_bytes,
                           .reach_begin = &reach_begin,
                           .reach_end = &reach_end,
                           .grid_id = 1,
                           .cooperative = launch.cooperative,
                           .param_bytes = static_cast<uint32_t>(launch.params.size())};
  std::ranges::copy(launch.grid, grid.grid);
  std::ranges::copy(launch.block, grid.block);
  std::ranges::copy(launch.cluster, grid.cluster);
  grid.explicit_cluster = grid.cluster_blocks() > 1;

  guest::InstallGuestFaultHandlers();
  guest::GuestThread thread;
  const guest::GuestThreadScope scope(&thread);
  const uint64_t blocks = grid.runs(), at_once = launch.cooperative ? blocks : 1;
  const auto runs = std::make_unique<BlockRun[]>(at_once);
  std::vector<BlockRun*> resident(at_once);
  for (uint64_t i = 0; i < at_once; ++i) {
    resident[i] = &runs[i];
    const Status ready = runs[i].Prepare(grid, i, 0);
    TUTTI_CHECK(ready.has_value());
  }
  GridResult result;
  codes.BlockBegins(runs[0]);
  // As an SM does, unless each is to begin with another code than the one before.
  const bool goes_on = at_once == 1 && launch.newer_code == NewerCode::kNever;
  if (goes_on) runs[0].GoOnTo(blocks);
  bool sound = RunToTheEnd(thread, resident, &result);
  const auto next = [&] { return launch.cooperative ? blocks : runs[0].index() + 1; };
  for (uint64_t i = next(); sound && i < blocks; i = next()) {
    result.begun_anew += codes.BlockBeganAnew(runs[0]) ? 1 : 0;
    if (runs[0].HasNewest()) {
      runs[0].PrepareNext(i);
    } else {
      const Status ready = runs[0].Prepare(grid, i, 0);
      TUTTI_CHECK(ready.has_value());
    }
    codes.BlockBegins(runs[0]);
    if (goes_on) runs[0].GoOnTo(blocks);
    resident.push_back(&runs[0]);
    sound = RunToTheEnd(thread, resident, &result);
  }
  result.begun_anew += codes.BlockBeganAnew(runs[0]) ? 1 : 0;
  result.output = std::move(host.output);
  if (result.fault && !host.assertion.empty()) result.fault->text = std::move(host.assertion);
  return result;
}

}  // namespace tutti::compiler
