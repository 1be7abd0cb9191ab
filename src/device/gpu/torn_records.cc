#include "device/gpu/torn_records.h"

#include <algorithm>
#include <vector>

#include "device/gpu/check_transfer.h"

namespace tutti::device::gpu {
namespace {

constexpr size_t kMostReads = 2048;  // that are compared with each other

bool Overlap(const Extent& one, const Extent& other) {
  return one.bytes != 0 && other.bytes != 0 && one.address < other.address + other.bytes &&
         other.address < one.address + one.bytes;
}

}  // namespace

std::optional<Torn> FindTorn(std::span<const LeftRecord> records) {
  std::vector<Extent> read;
  for (const LeftRecord& record : records) {
    if (!record.may_have_begun || record.operation->kind != Operation::Kind::kTask) continue;
    const auto& task = static_cast<const GpuOperation&>(*record.operation);
    if (task.work == GpuOperation::Work::kNothing) continue;
    if (task.work == GpuOperation::Work::kLaunch)
      return Torn{.why = "a kernel of the program was under way, or may have been", .by_kernel = true};
    const bool copies = task.work == GpuOperation::Work::kCopy;
    const auto to = copies ? DestinationOf(task.copy) : DestinationOf(task.fill);
    const auto from = copies ? SourceOf(task.copy) : Extent{};
    if (record.others_went_on || !to || !from || read.size() == kMostReads)
      return Torn{.why = "other work of the program may have seen a copy or fill that was under way"};
    if (from->bytes != 0) read.push_back(*from);
    if (std::ranges::any_of(read, [&to](const Extent& earlier) { return Overlap(earlier, *to); }))
      return Torn{.why = "a copy or fill was under way that writes what is read for it, or was before"};
  }
  return std::nullopt;
}

}  // namespace tutti::device::gpu
