#include "window.h"

#include <sys/mman.h>
#include <unistd.h>

#include <numeric>

#include "base/check.h"

namespace semantics {
namespace {

size_t RoundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

Window::Window(const Sizes& sizes, Part first) {
  static constexpr size_t kAlignment = 64;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  Sizes rounded;
  for (size_t i = 0; i < kParts; ++i) rounded[i] = RoundUp(sizes[i], kAlignment);
  const size_t all = RoundUp(std::accumulate(rounded.begin(), rounded.end(), size_t{0}), page);
  auto mapping = tutti::os::Mapping::Anonymous(all + 2 * page);
  TUTTI_CHECK(mapping);
  mapping_ = std::move(*mapping);
  TUTTI_CHECK(mprotect(mapping_.data(), page, PROT_NONE) == 0);
  TUTTI_CHECK(mprotect(mapping_.data() + page + all, page, PROT_NONE) == 0);
  bytes_ = {mapping_.data() + page, all};
  for (size_t i = 0, at = 0; i < kParts; ++i) {
    const size_t part = (static_cast<size_t>(first) + i) % kParts;
    if (i == kParts - 1) at = all - rounded[part];
    parts_[part] = bytes_.subspan(at, sizes[part]);
    at += rounded[part];
  }
}

}  // namespace semantics
