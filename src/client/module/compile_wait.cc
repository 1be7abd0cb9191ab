#include "client/module/compile_wait.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/base/environment.h"

namespace tutti::client {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kLongNs = 2 * kSecondNs;

constinit CompileWaits waits;

}  // namespace

void CompileWaits::Ended(uint64_t ns, uint32_t kernels) {
  total_ns_.fetch_add(ns, std::memory_order_relaxed);
  kernels_.fetch_add(kernels, std::memory_order_relaxed);
}

std::optional<std::string> CompileWaits::Line(std::string_view what, uint64_t ns) {
  const uint64_t total_ns = total_ns_.load(std::memory_order_relaxed) + ns;
  if (total_ns < kLongNs || said_.exchange(true, std::memory_order_relaxed)) return std::nullopt;
  return fmt::format(
      "compiling for the CPU: {} kernels in {} s, and now {}. Later runs find them in the code cache "
      "(TUTTI_QUIET=1 suppresses this line)",
      kernels_.load(std::memory_order_relaxed), total_ns / kSecondNs, what);
}

CompileWait::CompileWait(std::string_view kernel) : kernel_(kernel), since_ns_(NowNs()) {}

CompileWait::~CompileWait() {
  if (went_on_) waits.Ended(NowNs() - since_ns_, kernel_.empty() ? 0 : 1);
}

void CompileWait::GoesOn() {
  went_on_ = true;
  const auto line = waits.Line(kernel_.empty() ? "a module" : kernel_, NowNs() - since_ns_);
  if (line && Environment("TUTTI_QUIET") != "1") log::Warning("{}", *line);
}

}  // namespace tutti::client
