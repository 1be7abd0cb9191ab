#include "client/process/proc_address.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "client/process/exports.h"

namespace tutti::client {
namespace {

// By name, then the plain entries before the per-thread ones, then by version.
const std::vector<Export>& SortedExports() {
  static const auto* const sorted = [] {
    const auto all = Exports();
    auto* rows = new std::vector<Export>(all.begin(), all.end());
    std::sort(rows->begin(), rows->end(), [](const Export& a, const Export& b) {
      const int order = std::strcmp(a.name, b.name);
      if (order != 0) return order < 0;
      if (a.per_thread != b.per_thread) return b.per_thread;
      return a.version < b.version;
    });
    return rows;
  }();
  return *sorted;
}

const Export* Newest(std::span<const Export> rows, int version, bool per_thread) {
  const Export* best = nullptr;
  for (const Export& row : rows) {
    if (row.per_thread == per_thread && row.version <= version) best = &row;
  }
  return best;
}

std::span<const Export> RowsOf(std::string_view name) {
  const auto& rows = SortedExports();
  const auto begin = std::lower_bound(rows.begin(), rows.end(), name,
                                      [](const Export& row, std::string_view wanted) { return row.name < wanted; });
  auto end = begin;
  while (end != rows.end() && end->name == name) ++end;
  return {begin, end};
}

}  // namespace

FoundFunction FindFunction(const char* name, int version, uint64_t flags) {
  const auto rows = RowsOf(name);
  if (rows.empty()) return {};
  const Export* row = nullptr;
  if ((flags & cuda::CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0) row = Newest(rows, version, true);
  if (row == nullptr) row = Newest(rows, version, false);
  if (row == nullptr) return {nullptr, cuda::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT};
  return {row->function, cuda::CU_GET_PROC_ADDRESS_SUCCESS};
}

}  // namespace tutti::client
