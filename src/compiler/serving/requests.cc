#include "compiler/serving/requests.h"

#include <sys/stat.h>
#include <unistd.h>

#include <new>
#include <string>
#include <utility>

#include "compiler/serving/sandbox.h"
#include "cuda/result.h"
#include "os/filled_memory.h"
#include "os/socket.h"

namespace tutti::compiler {
namespace {

constexpr uint64_t kMaxImageBytes = 1ull << 30;
constexpr size_t kMaxLogBytes = 60 * 1024;  // a reply is one packet

Result<std::vector<uint8_t>> ReadImage(int fd) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return FailErrno("fstat of the image");
  if (info.st_size < 0 || static_cast<uint64_t>(info.st_size) > kMaxImageBytes) {
    return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "the image is larger than 1 GiB");
  }
  std::vector<uint8_t> bytes;
  try {
    bytes.resize(static_cast<size_t>(info.st_size));
  } catch (const std::bad_alloc&) {
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "the image needs more memory than there is");
  }
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count <= 0) return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "the image cannot be read");
    done += static_cast<size_t>(count);
  }
  return bytes;
}

Status Reply(int socket, int file, const Result<Made>& result) {
  if (!result) return SendFailure(socket, result.error());
  if (const auto filled = os::FillMemory(file, result->bytes); !filled) return SendFailure(socket, filled.error());
  return os::Send(socket, Serialize(CompileReply{.is_quick = result->is_quick}));
}

}  // namespace

Status SendFailure(int socket, const Error& error, bool is_quick) {
  CompileReply reply{
      .status = error.code != 0 ? error.code : cuda::CUDA_ERROR_UNKNOWN, .log = error.text, .is_quick = is_quick};
  if (reply.log.size() > kMaxLogBytes) reply.log = reply.log.substr(0, kMaxLogBytes) + "\n...";
  return os::Send(socket, Serialize(reply));
}

Status ServeRequests(int socket, const AnswerRequest& answer) {
  for (;;) {
    TUTTI_ASSIGN(const os::Message message, os::Receive(socket));
    if (message.bytes.empty() && message.fds.empty()) return {};
    LimitRequestTime(kRequestSeconds);
    TUTTI_ASSIGN(const CompileRequest request, ParseCompileRequest(message.bytes));
    if (message.fds.size() != 2) return Fail("a compile request carries an image and a file for the result");
    auto image = ReadImage(message.fds[0].get());
    TUTTI_TRY(Reply(socket, message.fds[1].get(),
                    image ? answer(request, std::move(*image)) : Result<Made>(std::unexpected(image.error()))));
  }
}

}  // namespace tutti::compiler
