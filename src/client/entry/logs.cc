// What the driver has said about the program's mistakes.
#include <cstring>
#include <fstream>

#include "client/base/complaint_history.h"
#include "client/entry/entries.h"

namespace tutti::client::entry {
namespace {

ComplaintHistory::Lines Take(const CUlogIterator* iterator, size_t most_bytes) {
  const ComplaintHistory& history = ComplaintHistory::Get();
  return history.From(iterator != nullptr ? *iterator : history.oldest(), most_bytes);
}

}  // namespace

CUresult cuLogsRegisterCallback(CUlogsCallback callback, void* data, CUlogsCallbackHandle* out) {
  if (callback == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto* const listener = ComplaintHistory::Get().Listen(callback, data);
  if (out != nullptr) *out = listener;
  return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle) {
  return ComplaintHistory::Get().Remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLogsCurrent(CUlogIterator* out, unsigned int flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *out = ComplaintHistory::Get().next();
  return CUDA_SUCCESS;
}

CUresult cuLogsDumpToFile(CUlogIterator* iterator, const char* path, unsigned int flags) {
  if (path == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto lines = Take(iterator, ComplaintHistory::kMostBytes * 2);
  std::ofstream file(path);
  file << lines.text;
  file.close();
  if (!file) return CUDA_ERROR_INVALID_VALUE;
  if (iterator != nullptr) *iterator = lines.next;
  return CUDA_SUCCESS;
}

CUresult cuLogsDumpToMemory(CUlogIterator* iterator, char* buffer, size_t* size, unsigned int flags) {
  if (buffer == nullptr || size == nullptr || *size == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto lines = Take(iterator, *size - 1);
  std::memcpy(buffer, lines.text.c_str(), lines.text.size() + 1);
  *size = lines.text.size();
  if (lines.any && lines.text.empty()) return CUDA_ERROR_INVALID_VALUE;
  if (iterator != nullptr) *iterator = lines.next;
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
