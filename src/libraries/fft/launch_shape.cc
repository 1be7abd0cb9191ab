#include "libraries/fft/launch_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "libraries/fft/factors.h"

namespace tutti::fft {
namespace {

constexpr uint64_t kLanes = 32;
constexpr uint64_t kMaxCount = (uint64_t{1} << 31) - 1;

// A block costs the device about as much as a thousand elements, and others wait while it runs: some microseconds of
// work each, and, where that allows it, enough of them to keep 16 SMs busy.
constexpr uint64_t kMinBlockElements = 2048, kMaxBlockElements = 65536, kWantedBlocks = 64;

// The shared memory of a block holds the largest one's 32 KiB.
constexpr uint64_t kSmallestWhole = 64, kLargestWhole = 4096;

// At least every second lane is busy if 32 of them at a time run along this many elements: gathers and scatters would
// cost more than what the others idle.
bool IsWorthRows(uint64_t length) { return 2 * length >= kLanes; }

}  // namespace

bool Divide(uint64_t rows, uint64_t length, unsigned elements_per_lane, CommonArguments& common, uint32_t& blocks) {
  const uint64_t chunks = (length + kLanes - 1) / kLanes;
  if (length > kMaxCount || rows > kMaxCount || rows * chunks > kMaxCount) return false;
  const uint64_t units = rows * chunks, unit_elements = kLanes * elements_per_lane;
  const uint64_t least = std::max<uint64_t>(kMinBlockElements / unit_elements, 1);
  const uint64_t most = std::max<uint64_t>(kMaxBlockElements / unit_elements, 1);
  const uint64_t per_block = std::clamp((units + kWantedBlocks - 1) / kWantedBlocks, least, most);
  common.units = static_cast<unsigned>(units);
  common.chunks = static_cast<unsigned>(chunks);
  common.units_per_block = static_cast<unsigned>(per_block);
  blocks = static_cast<uint32_t>((units + per_block - 1) / per_block);
  return true;
}

std::optional<Step> MakePass(unsigned radix, uint64_t m, uint64_t s, uint64_t outer, Tables& tables) {
  if (m > kMaxCount || s > kMaxCount || outer > kMaxCount || m * s > kMaxCount / radix) return std::nullopt;
  Step step;
  PassArguments arguments;
  arguments.m = static_cast<unsigned>(m);
  arguments.s = static_cast<unsigned>(s);
  arguments.outer = static_cast<unsigned>(outer);
  uint64_t rows = outer, length = m;
  const char* lanes = "";
  if ((s == 8 || s == 16) && IsWorthRows(m * s)) {
    const bool has_edge = m * s % kLanes != 0;
    lanes = s == 8 ? (has_edge ? "edge_tile8" : "tile8") : (has_edge ? "edge_tile16" : "tile16");
    length = m * s;
  } else if (IsWorthRows(s)) {
    lanes = s % kLanes == 0 ? "rows" : "edge_rows";
    rows = outer * m;
    length = s;
  } else if (s == 1 && IsWorthRows(m)) {
    lanes = m % kLanes == 0 ? "first" : "edge_first";
  } else if (IsWorthRows(m * s)) {
    lanes = "tile";
    length = m * s;
    arguments.by_s = MakeDivisor(static_cast<unsigned>(s));
  } else {
    lanes = "flat";
    rows = 1;
    length = outer * m * s;
    arguments.by_ms = MakeDivisor(static_cast<unsigned>(m * s));
    arguments.by_s = MakeDivisor(static_cast<unsigned>(s));
  }
  if (!Divide(rows, length, radix, arguments.common, step.blocks)) return std::nullopt;
  step.kernel = fmt::format("pass_{}_{}", radix, lanes);
  if (m != 1) step.table = tables.Pass(radix, m);
  step.arguments = arguments;
  return step;
}

bool HasWhole(uint64_t n, bool is_double) {
  return std::has_single_bit(n) && n >= kSmallestWhole && n <= (is_double ? kLargestWhole / 2 : kLargestWhole);
}

std::optional<Step> MakeWhole(uint64_t n, uint64_t rows, Tables& tables) {
  Step step;
  PassArguments arguments;
  if (!Divide(rows, kLanes, static_cast<unsigned>(n / kLanes), arguments.common, step.blocks)) return std::nullopt;
  step.kernel = fmt::format("whole_{}", n);
  step.table = tables.Whole(n);
  step.arguments = arguments;
  return step;
}

}  // namespace tutti::fft
