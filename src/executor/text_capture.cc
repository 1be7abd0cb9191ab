#include "executor/text_capture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "cuda/result.h"

namespace tutti::executor {
namespace {

constexpr unsigned kPauseUs = 100;

// The file in the place of `descriptor`.
Result<os::Fd> Catch(int descriptor) {
  os::Fd file(memfd_create("tutti-text", MFD_CLOEXEC));
  if (!file || fcntl(file.get(), F_SETFL, O_APPEND) != 0 || dup2(file.get(), descriptor) < 0)
    return FailErrno("a file for what kernels print", cuda::CUDA_ERROR_OPERATING_SYSTEM);
  return file;
}

}  // namespace

void PutText(std::span<const char> text, TextRing* ring, const std::function<bool()>& wake) {
  while (!text.empty()) {
    const uint64_t produced = ring->produced.load(std::memory_order_relaxed);
    const uint64_t room = kTextBytes - (produced - ring->consumed.load(std::memory_order_acquire));
    if (room == 0) {
      if (!wake()) return;
      usleep(kPauseUs);
      continue;
    }
    const uint64_t place = produced % kTextBytes;
    const uint64_t bytes = std::min({room, kTextBytes - place, uint64_t{text.size()}});
    std::memcpy(ring->bytes + place, text.data(), bytes);
    ring->produced.store(produced + bytes, std::memory_order_release);
    text = text.subspan(bytes);
  }
}

Result<TextCapture> TextCapture::Start() {
  os::Fd messages(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  TUTTI_ASSIGN(os::Fd output, Catch(STDOUT_FILENO));
  TUTTI_ASSIGN(os::Fd error, Catch(STDERR_FILENO));
  return TextCapture(std::move(messages), std::move(output), std::move(error));
}

void TextCapture::HandOn(Exchange* exchange, const std::function<bool()>& wake) {
  std::vector<char> printed, failed;
  {
    std::lock_guard lock(*mutex_);
    std::fflush(stdout);
    printed = Take(&output_);
    failed = Take(&error_);
  }
  PutText(printed, &exchange->printed, wake);
  PutText(failed, &exchange->failed, wake);
}

std::vector<char> TextCapture::Take(Caught* caught) {
  struct stat now{};
  if (fstat(caught->file.get(), &now) != 0) return {};
  const auto end = static_cast<uint64_t>(now.st_size);
  if (caught->taken == end) return {};
  std::vector<char> text(end - caught->taken);
  size_t read = 0;
  while (read < text.size()) {
    const ssize_t got =
        pread(caught->file.get(), text.data() + read, text.size() - read, static_cast<off_t>(caught->taken + read));
    if (got <= 0) break;
    read += static_cast<size_t>(got);
  }
  text.resize(read);
  caught->taken = end;
  // It may grow meanwhile, so its memory is given back, not its length.
  fallocate(caught->file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(end));
  return text;
}

}  // namespace tutti::executor
