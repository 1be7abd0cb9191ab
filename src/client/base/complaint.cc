#include "client/base/complaint.h"

#include <atomic>

#include "client/base/complaint_history.h"
#include "cuda/result.h"

namespace tutti::client {
namespace {

constexpr int kMostLines = 50;
std::atomic<int> lines{0};

}  // namespace

int Complain(int status, std::string_view text) {
  const int line = lines.fetch_add(1, std::memory_order_relaxed);
  const char* const found = cuda::ResultName(status);
  const std::string said = fmt::format("{}: {}", found != nullptr ? found : "?", text);
  ComplaintHistory::Get().Add(said);
  if (line < kMostLines) log::Warning("{}", said);
  if (line == kMostLines) log::Warning("further mistakes of this process are not logged");
  return status;
}

}  // namespace tutti::client
