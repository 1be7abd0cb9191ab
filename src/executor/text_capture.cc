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

constexpr size_t kPieceBytes = 16 << 10;
constexpr unsigned kPauseUs = 100;

// The file in the place of `descriptor`.
Result<os::Fd> Catch(int descriptor) {
  os::Fd file(memfd_create("tutti-text", MFD_CLOEXEC));
  if (!file || fcntl(file.get(), F_SETFL, O_APPEND) != 0 || dup2(file.get(), descriptor) < 0)
    return FailErrno("a file for what kernels print", cuda::CUDA_ERROR_OPERATING_SYSTEM);
  return file;
}

}  // namespace

Result<TextCapture> TextCapture::Start() {
  os::Fd messages(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  TUTTI_ASSIGN(os::Fd output, Catch(STDOUT_FILENO));
  TUTTI_ASSIGN(os::Fd error, Catch(STDERR_FILENO));
  return TextCapture(std::move(messages), std::move(output), std::move(error));
}

void TextCapture::HandOn(Exchange* exchange, const std::function<bool()>& wake) {
  std::lock_guard lock(*mutex_);
  std::fflush(stdout);
  HandOn(&output_, &exchange->printed, wake);
  HandOn(&error_, &exchange->failed, wake);
}

void TextCapture::HandOn(Caught* caught, TextRing* ring, const std::function<bool()>& wake) {
  struct stat now{};
  if (fstat(caught->file.get(), &now) != 0) return;
  const auto end = static_cast<uint64_t>(now.st_size);
  if (caught->handed_on == end) return;
  std::vector<char> piece(kPieceBytes);
  while (caught->handed_on < end) {
    const uint64_t produced = ring->produced.load(std::memory_order_relaxed);
    const uint64_t room = kTextBytes - (produced - ring->consumed.load(std::memory_order_acquire));
    if (room == 0) {
      if (!wake()) break;
      usleep(kPauseUs);
      continue;
    }
    const uint64_t place = produced % kTextBytes;
    const uint64_t most = std::min({room, kTextBytes - place, uint64_t{kPieceBytes}, end - caught->handed_on});
    const ssize_t got = pread(caught->file.get(), piece.data(), most, static_cast<off_t>(caught->handed_on));
    if (got <= 0) return;
    std::memcpy(ring->bytes + place, piece.data(), static_cast<size_t>(got));
    ring->produced.store(produced + static_cast<uint64_t>(got), std::memory_order_release);
    caught->handed_on += static_cast<uint64_t>(got);
  }
  caught->handed_on = end;
  // It may grow meanwhile, so its memory is given back, not its length.
  fallocate(caught->file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(end));
}

}  // namespace tutti::executor
