#include "compiler/worker/service.h"

#include <llvm/Support/ErrorHandling.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "compiler/fence/fence.h"
#include "compiler/protocol/fenced_image.h"
#include "compiler/worker/sandbox.h"
#include "cuda/result.h"
#include "os/filled_memory.h"
#include "os/socket.h"

namespace tutti::compiler {
namespace {

constexpr uint64_t kMaxImageBytes = 1ull << 30;
constexpr uint32_t kRequestSeconds = 120;
constexpr size_t kMaxLogBytes = 60 * 1024;  // a reply is one packet

constexpr std::string_view kWarmUpKernel = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry warm_up(.param .u64 out) {
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
)";

Result<std::vector<uint8_t>> ReadImage(int fd) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return FailErrno("fstat of the image");
  if (info.st_size < 0 || static_cast<uint64_t>(info.st_size) > kMaxImageBytes) {
    return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "the image is larger than 1 GiB");
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(info.st_size));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count <= 0) return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "the image cannot be read");
    done += static_cast<size_t>(count);
  }
  return bytes;
}

Result<std::vector<uint8_t>> Fence(const ptx::Module& module) {
  TUTTI_ASSIGN(FencedModule fenced, FencePtx(module, kSharedContext));
  FencedImage image{.ptx = std::move(fenced.ptx), .functions = std::move(fenced.functions), .refused = {}};
  for (auto& [function, why] : fenced.refused) image.refused.emplace(std::move(function), std::move(why));
  return Serialize(image);
}

Status SendFailure(int socket, const Error& error) {
  CompileReply reply{.status = error.code != 0 ? error.code : cuda::CUDA_ERROR_UNKNOWN, .log = error.text};
  if (reply.log.size() > kMaxLogBytes) reply.log = reply.log.substr(0, kMaxLogBytes) + "\n...";
  return os::Send(socket, Serialize(reply));
}

// LLVM's fatal error handler, also when memory is exhausted. The request fails with LLVM's reason, then the worker
// ends: its state is undefined.
void GiveUp(void* socket, const char* reason, bool) {
  const auto told = SendFailure(static_cast<int>(reinterpret_cast<intptr_t>(socket)),
                                {cuda::CUDA_ERROR_INVALID_PTX, std::string("the code generator gave up: ") + reason});
  _exit(told ? 3 : 4);
}

Status Reply(int socket, int file, const Result<std::vector<uint8_t>>& result) {
  if (!result) return SendFailure(socket, result.error());
  if (const auto filled = os::FillMemory(file, *result); !filled) return SendFailure(socket, filled.error());
  return os::Send(socket, Serialize(CompileReply{}));
}

}  // namespace

Status Service::WarmUp() {
  CompileRequest request{.op = CompileOp::kKernel, .kernel = "warm_up", .block = {32, 1, 1}};
  TUTTI_TRY(Answer(request, {kWarmUpKernel.begin(), kWarmUpKernel.end()}));
  compiler_.reset();
  image_.clear();
  return {};
}

Result<const ImageCompiler*> Service::Open(std::vector<uint8_t> image, uint32_t capability) {
  if (compiler_ == nullptr || image != image_ || capability != capability_) {
    compiler_.reset();
    TUTTI_ASSIGN(compiler_, ImageCompiler::Open(image, capability));
    image_ = std::move(image);
    capability_ = capability;
  }
  return compiler_.get();
}

Result<std::vector<uint8_t>> Service::Answer(const CompileRequest& request, std::vector<uint8_t> image) {
  TUTTI_ASSIGN(const ImageCompiler* compiler, Open(std::move(image), request.capability));
  switch (request.op) {
    case CompileOp::kIndex: return module::Serialize(compiler->index());
    case CompileOp::kKernel: {
      CompileOptions options{.optimize = std::min(request.optimize, 3u), .target = target_};
      for (int i = 0; i < 3; ++i) options.block[i] = request.block[i];
      return compiler->Compile(request.kernel, options);
    }
    case CompileOp::kFence: return Fence(compiler->module());
  }
  return Fail("unknown compile request");
}

Status Service::Serve(int socket) {
  llvm::install_fatal_error_handler(GiveUp, reinterpret_cast<void*>(static_cast<intptr_t>(socket)));
  for (;;) {
    TUTTI_ASSIGN(const os::Message message, os::Receive(socket));
    if (message.bytes.empty() && message.fds.empty()) return {};
    LimitRequestTime(kRequestSeconds);
    TUTTI_ASSIGN(const CompileRequest request, ParseCompileRequest(message.bytes));
    if (message.fds.size() != 2) return Fail("a compile request carries an image and a file for the result");
    auto image = ReadImage(message.fds[0].get());
    TUTTI_TRY(Reply(
        socket, message.fds[1].get(),
        image ? Answer(request, std::move(*image)) : Result<std::vector<uint8_t>>(std::unexpected(image.error()))));
  }
}

}  // namespace tutti::compiler
