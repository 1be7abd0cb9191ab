#include "runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>

#include "case_file.h"
#include "compiler/fence/fence.h"
#include "compiler/testing/test_module.h"
#include "cuda/result.h"
#include "guest/gpu/fenced_ptx.h"
#include "interpreter/machine.h"
#include "ptx/parser.h"
#include "random.h"

namespace semantics {
namespace {

using namespace tutti;

constexpr uint64_t kMostSteps = 4'000'000;  // of a block
constexpr size_t kVariableBytes = 64 << 10;  // for those of a module

uint64_t Number(Random& random, Kind kind) {
  static constexpr uint64_t kIntegers[] = {0,
                                           1,
                                           2,
                                           ~0ull,
                                           0x7fffffff7fffffff,
                                           0x8000000080000000,
                                           0x7fffffffffffffff,
                                           0x8000000000000000,
                                           0x7fff80007fff8000,
                                           0xff80ff807f00807f,
                                           31,
                                           32,
                                           33,
                                           63,
                                           64,
                                           65,
                                           0xffffffff00000000,
                                           0x00000000ffffffff};
  static constexpr uint32_t kFloats[] = {
      0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001,
      1,          0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x3f000000,
      0x3effffff, 0x3f000001, 0x4b000000, 0x4b7fffff, 0x4f000000, 0x4effffff, 0xcf000000, 0x5f000000, 0x477fe000,
      0x477ff000, 0x33000000, 0x33800000, 0x38800000, 0x43e00000, 0x43f00000};
  static constexpr uint64_t kDoubles[] = {0,
                                          1ull << 63,
                                          0x3ff0000000000000,
                                          0xbff0000000000000,
                                          0x7ff0000000000000,
                                          0xfff0000000000000,
                                          0x7ff8000000000000,
                                          0xfff0000000000001,
                                          1,
                                          0x8000000000000001,
                                          0x000fffffffffffff,
                                          0x0010000000000000,
                                          0x7fefffffffffffff,
                                          0x3fe0000000000000,
                                          0x41dfffffffc00000,
                                          0x41e0000000000000,
                                          0xc1e0000000000000,
                                          0x43e0000000000000,
                                          0xc3e0000000000000,
                                          0x47efffffe0000000,
                                          0x47effffff0000000,
                                          0x36a0000000000000,
                                          0x3690000000000000,
                                          0x3810000000000000,
                                          0x40effc0000000000};
  static constexpr uint16_t kHalves[] = {0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0xfe01,
                                         1,      0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x3f80, 0xbf80,
                                         0x7f80, 0xff80, 0x7fc0, 0x7f7f, 0x0080, 0x007f, 0x3800, 0x3555};
  const auto tame = [&](double least, double most) {
    const double magnitude = std::exp2(least + (most - least) * static_cast<double>(random.Below(1 << 20)) / (1 << 20));
    return random.OneIn(2) ? magnitude : -magnitude;
  };
  static constexpr double kLimits[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, NAN, 1.0, -1.0, 2.0};
  const auto float_bits = [&](double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); };
  switch (kind) {
    case Kind::kInteger:
      if (random.OneIn(3)) return random.From(kIntegers);
      if (random.OneIn(3)) return random.Below(256) | static_cast<uint64_t>(random.Below(256)) << 32;
      return random.Bits();
    case Kind::kFloat: {
      const auto one = [&]() -> uint64_t {
        if (random.OneIn(2)) return random.From(kFloats);
        return random.OneIn(2) ? random.Bits() >> 32 : float_bits(tame(-30, 34));
      };
      const uint64_t low = one();
      return low | one() << 32;
    }
    case Kind::kDouble:
      return random.OneIn(2)   ? random.From(kDoubles)
             : random.OneIn(2) ? random.Bits()
                               : std::bit_cast<uint64_t>(tame(-70, 70));
    case Kind::kHalf: {
      uint64_t bits = 0;
      for (int i = 0; i < 4; ++i)
        bits |= (random.OneIn(2) ? uint64_t{random.From(kHalves)} : random.Bits() >> 48) << (16 * i);
      return bits;
    }
    case Kind::kTame: {
      const uint64_t low = float_bits(random.OneIn(6) ? random.From(kLimits) : tame(-20, 20));
      return low | static_cast<uint64_t>(float_bits(random.OneIn(6) ? random.From(kLimits) : tame(-20, 20))) << 32;
    }
    case Kind::kAngle: return float_bits(tame(-20, 2.5)) | static_cast<uint64_t>(float_bits(tame(-3, 2.5))) << 32;
    case Kind::kTameDouble: return std::bit_cast<uint64_t>(random.OneIn(8) ? random.From(kLimits) : tame(-20, 20));
    default: {  // f16 and bf16 both have moderate values there
      uint64_t bits = 0;
      for (int i = 0; i < 4; ++i)
        bits |= (random.OneIn(6) ? uint64_t{random.From(std::array<uint16_t, 4>{0, 0x8000, 0x3c00, 0xbc00})}
                                 : 0x3800 + random.Below(0x700) + (random.OneIn(2) ? 0x8000 : 0))
                << (16 * i);
      return bits;
    }
  }
}

std::vector<uint8_t> Given() {
  std::vector<uint8_t> bytes(16);
  for (uint8_t i = 0; i < 16; ++i) bytes[i] = static_cast<uint8_t>(0x71 + 19 * i);
  return bytes;
}

guest::FenceWords FenceOf(const Window& window) {
  return {window.begin(), window.bytes(), reinterpret_cast<uint64_t>(window[Part::kFault].data()), 0};
}

// Of every three programs two have blocks that begin anew.
compiler::NewerCode NewerCodeOf(Judge judge, uint64_t seed) {
  using enum compiler::NewerCode;
  static constexpr compiler::NewerCode kWhen[] = {kNever, kAtOnce, kNowAndThen};
  return judge == Judge::kQuick ? kWhen[seed % 3] : kNever;
}

// Of every four programs two have all loops that may run lane after lane do so, the others those where it pays. Of
// every eight four have no copies for lanes that meet apart, as have functions too large for one: there turns may end.
compiler::CompileOptions OptionsOf(Judge judge, uint64_t seed) {
  const bool lane_after_lane = seed / 2 % 2 != 0, copies = seed / 4 % 2 == 0;
  switch (judge) {
    case Judge::kAvx2:
      return {.lane_after_lane = lane_after_lane,
              .apart_copies = copies,
              .target = compiler::HostTarget::Named("x86-64-v3")};
    case Judge::kQuick:
      return {.quick = true,
              .quick_for_all = true,
              .quick_renews_all = NewerCodeOf(judge, seed) != compiler::NewerCode::kNever,
              .target = compiler::HostTarget::Detect()};
    case Judge::kBaseline: return {.apart_copies = copies, .target = compiler::HostTarget::Named("x86-64-v2")};
    default:
      return {.lane_after_lane = lane_after_lane, .apart_copies = copies, .target = compiler::HostTarget::Detect()};
  }
}

ThreadFault::Kind KindOf(int error) {
  switch (error) {
    case cuda::CUDA_ERROR_ILLEGAL_ADDRESS: return ThreadFault::Kind::kIllegalAddress;
    case cuda::CUDA_ERROR_MISALIGNED_ADDRESS: return ThreadFault::Kind::kMisalignedAddress;
    default: return ThreadFault::Kind::kOther;
  }
}
ThreadFault::Kind KindOf(guest::FaultKind kind) {
  switch (kind) {
    case guest::FaultKind::kIllegalAddress: return ThreadFault::Kind::kIllegalAddress;
    case guest::FaultKind::kMisalignedAddress: return ThreadFault::Kind::kMisalignedAddress;
    default: return ThreadFault::Kind::kOther;
  }
}

// How a program ends whose lanes meet apart, in a function without a copy for that.
bool IsApart(const std::string& error) {
  return error.find("names lanes that are elsewhere in the kernel") != std::string::npos ||
         error.find("barrier that no warp can complete") != std::string::npos;
}

// Without copies such a program is compiled again with them; but then it ends so wherever turns end.
std::string RunAsItMay(compiler::CompileOptions options,
                       const std::function<std::string(const compiler::CompileOptions&)>& run) {
  std::string error = run(options);
  if (options.apart_copies || !IsApart(error)) return error;
  options.turns_end = false;
  if (const std::string other = run(options); !IsApart(other)) return "fault, but not if turns do not end: " + error;
  options.apart_copies = options.turns_end = true;
  return run(options);
}

}  // namespace

const char* NameOf(Judge judge) {
  static constexpr const char* kNames[] = {
      "interpreter",   "interpreter, fenced", "compiler, this machine",      "compiler, AVX2",
      "compiler, SSE", "compiler, fenced",    "compiler, a thread at a time"};
  return kNames[static_cast<size_t>(judge)];
}

bool CanRun(Judge judge) {
  if (judge == Judge::kAvx512)
    return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq");
  return judge != Judge::kAvx2 || (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
}

Runner::Runner() : inputs_(size_t{kBlocks} * kThreads * kInputBytes) {}

void Runner::SetInputs(uint64_t seed) {
  Random random(seed ^ 0x5eed);
  for (size_t at = 0; at < inputs_.size(); at += 8) {
    const uint64_t number = Number(random, static_cast<Kind>(at / (16 * kThreads) % kEntries / 8));
    std::memcpy(&inputs_[at], &number, 8);
  }
}

Run Runner::Execute(const Program& program, Judge judge, Extent extent) {
  const auto now = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const double begin = now();
  Run run = ExecuteUntimed(program, judge, extent);
  seconds_[static_cast<size_t>(judge)] += now() - begin;
  return run;
}

Run Runner::ExecuteUntimed(const Program& program, Judge judge, Extent extent) {
  Run run;
  SetWindow(program, extent);
  std::vector<uint8_t> params(24);
  const uint8_t* pointers[] = {window_[Part::kInputs].data(), window_[Part::kOutput].data(),
                               window_[Part::kScratch].data()};
  std::memcpy(params.data(), pointers, sizeof pointers);
  const std::vector<uint8_t> given = Given();
  params.insert(params.end(), given.begin(), given.end());

  std::string text = program.Text(extent.threads);
  const bool fenced = judge == Judge::kFencedInterpreter || judge == Judge::kFencedCompiler;
  const guest::FenceWords words = FenceOf(window_);
  auto module = ptx::Parse(text);
  if (!module) return {.error = module.error().text};
  if (const std::string errors = ptx::FunctionErrors(*module); !errors.empty()) return {.error = errors};
  if (fenced) {
    const auto fence = compiler::FencePtx(std::move(*module));
    if (!fence) return {.error = fence.error().text};
    if (!fence->refused.empty()) return {.error = fence->refused[0].second};
    text = fence->ptx;
    module = ptx::Parse(text);
    if (!module || !ptx::FunctionErrors(*module).empty())
      return {.error = "fenced: " + (module ? ptx::FunctionErrors(*module) : module.error().text)};
  }
  if (judge == Judge::kInterpreter || judge == Judge::kFencedInterpreter) {
    interpreter::Machine machine(*module);
    for (const Part part : {Part::kInputs, Part::kOutput, Part::kScratch, Part::kFault})
      machine.global().Map(window_[part]);
    if (fenced) std::memcpy(machine.Variable(guest::kFenceVariable), &words, sizeof words);
    const interpreter::Launch launch{.grid = {extent.blocks, 1, 1},
                                     .block = {extent.threads, 1, 1},
                                     .params = params,
                                     .steps = kMostSteps * extent.blocks};
    const interpreter::Outcome outcome = machine.Run("k", launch);
    if (!outcome.refused.empty()) {
      run.error = "not interpreted: " + outcome.refused;
    } else if (outcome.fault) {
      run.fault = {KindOf(outcome.fault->error), outcome.fault->thread, outcome.fault->line};
      run.error = fmt::format("fault {} of thread {}, line {}: {}", outcome.fault->error, outcome.fault->thread,
                              outcome.fault->line, outcome.fault->text);
    } else if (outcome.deadlock) {
      run.error = "deadlock";
    }
  } else {
    run.error = RunAsItMay(OptionsOf(judge, program.seed), [&](const compiler::CompileOptions& options) -> std::string {
      FillWindow();
      auto compiled = compiler::TestModule::Open(text, options, window_[Part::kVariables]);
      if (!compiled) return compiled.error().text;
      if (fenced) std::memcpy(compiled->Variable(guest::kFenceVariable), &words, sizeof words);
      compiler::GridLaunch launch{.grid = {extent.blocks, 1, 1},
                                  .block = {extent.threads, 1, 1},
                                  .params = params,
                                  .window_base = window_.begin(),
                                  .window_bytes = window_.bytes(),
                                  .newer_code = NewerCodeOf(judge, program.seed)};
      const auto result = compiled->Run("k", launch);
      if (!result) return result.error().text;
      run.fault.reset();
      if (!result->fault) return "";
      run.fault = {KindOf(result->fault->kind), result->fault->thread, result->fault->ptx_line};
      return fmt::format("fault {} of thread {}, line {}, address {:#x}: {}",
                         static_cast<uint32_t>(result->fault->kind), result->fault->thread, result->fault->ptx_line,
                         result->fault->address, result->fault->text);
    });
    // With the checks in place of their calls many a function is too large for a copy.
    if (fenced && IsApart(run.error)) run.error = std::string(kTooLarge) + ": " + run.error;
  }
  guest::FenceFault fault;
  std::memcpy(&fault, window_[Part::kFault].data(), sizeof fault);
  if (run.error.empty() && fault.state != 0)
    run.error = fmt::format("fenced: fault {} at line {}, address {:#x}", fault.kind, fault.ptx_line, fault.address);
  run.output.assign(window_[Part::kOutput].begin(), window_[Part::kOutput].end());
  return run;
}

void Runner::SetWindow(const Program& program, Extent extent) {
  const Window::Sizes sizes = {inputs_.size(), size_t{program.output_bytes} * extent.threads * extent.blocks,
                               size_t{kBlocks} * kThreads * kScratchBytes, kVariableBytes, sizeof(guest::FenceFault)};
  const auto first = static_cast<Part>(program.seed % Window::kParts);
  if (sizes != sizes_ || first != first_) window_ = Window(sizes, first);
  sizes_ = sizes;
  first_ = first;
  FillWindow();
}

void Runner::FillWindow() {
  std::ranges::copy(inputs_, window_[Part::kInputs].begin());
  std::ranges::fill(window_[Part::kOutput], kBefore);
  for (const Part part : {Part::kScratch, Part::kFault}) std::ranges::fill(window_[part], 0);
}

std::vector<Difference> Compare(const Program& program, const Run& expected, const Run& got, Extent extent) {
  std::vector<Difference> differences;
  for (const Result& result : program.Results()) {
    const uint32_t stored = StoredBytes(result.type), bytes = std::min(8u, std::max(1u, ptx::BitsOf(result.type) / 8));
    for (uint32_t i = 0; i < extent.blocks * extent.threads; ++i) {
      const uint32_t block = i / extent.threads, thread = i % extent.threads;
      const size_t at = (size_t{block} * program.output_bytes + result.offset) * extent.threads + stored * thread;
      uint64_t a = 0, b = 0;
      std::memcpy(&a, &expected.output[at], bytes);
      std::memcpy(&b, &got.output[at], bytes);
      if (!Same(result.type, result.tolerance, a, b))
        differences.push_back(
            {block, thread, result, fmt::format("{:0{}x}", a, 2 * bytes), fmt::format("{:0{}x}", b, 2 * bytes)});
    }
  }
  return differences;
}

}  // namespace semantics
