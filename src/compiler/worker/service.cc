#include "compiler/worker/service.h"

#include <llvm/Support/ErrorHandling.h>
#include <unistd.h>

#include <utility>

#include "compiler/serving/sandbox.h"
#include "cuda/result.h"

namespace tutti::compiler {
namespace {

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

// Of processor time: it takes a hundredth. Without it the kernel would wait for code that never comes.
constexpr uint32_t kQuickSeconds = 5;

}  // namespace

// LLVM's fatal error handler, also when memory is exhausted. The request fails with LLVM's reason, then the worker
// ends: its state is undefined.
void Service::GiveUp(void* self, const char* reason, bool) {
  const auto* const service = static_cast<Service*>(self);
  const auto told = SendFailure(service->socket_,
                                {cuda::CUDA_ERROR_INVALID_PTX, std::string("the code generator gave up: ") + reason},
                                service->makes_quick_);
  _exit(told ? 3 : 4);
}

Status Service::WarmUp() {
  CompileRequest request{.op = CompileOp::kKernel, .kernel = "warm_up", .block = {32, 1, 1}};
  TUTTI_TRY(Answer(request, {kWarmUpKernel.begin(), kWarmUpKernel.end()}));
  compiler_.reset();
  image_.clear();
  return {};
}

Result<ImageCompiler*> Service::Open(std::vector<uint8_t> image, uint32_t capability) {
  if (compiler_ == nullptr || image != image_ || capability != capability_) {
    compiler_.reset();
    TUTTI_ASSIGN(compiler_, ImageCompiler::Open(image, capability));
    image_ = std::move(image);
    capability_ = capability;
  }
  return compiler_.get();
}

Result<Made> Service::Answer(const CompileRequest& request, std::vector<uint8_t> image) {
  if (request.op != CompileOp::kIndex && request.op != CompileOp::kKernel)
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "no request for tutti-compiler (tutti-fence fences)");
  TUTTI_ASSIGN(ImageCompiler * compiler, Open(std::move(image), request.capability));
  if (request.op == CompileOp::kIndex) return Made(module::Serialize(compiler->index()));
  CompileOptions options{.optimize = std::min(request.optimize, 3u), .target = target_};
  for (int i = 0; i < 3; ++i) options.block[i] = request.block[i];
  if (request.quick) {
    if (auto code = CompileQuick(*compiler, request.kernel, options)) return Made(std::move(*code), true);
  }
  return compiler->Compile(request.kernel, options);
}

Result<std::vector<uint8_t>> Service::CompileQuick(ImageCompiler& compiler, const std::string& kernel,
                                                   CompileOptions options) {
  LimitRequestTime(kQuickSeconds);
  makes_quick_ = options.quick = true;
  auto code = compiler.Compile(kernel, options);
  makes_quick_ = false;
  LimitRequestTime(kRequestSeconds);
  return code;
}

Status Service::Serve(int socket) {
  socket_ = socket;
  llvm::install_fatal_error_handler(GiveUp, this);
  return ServeRequests(socket, [this](const CompileRequest& request, std::vector<uint8_t> image) {
    return Answer(request, std::move(image));
  });
}

}  // namespace tutti::compiler
