// The worker's side of compiler/protocol: answers requests one after the other until the peer closes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/link/host_target.h"
#include "compiler/pipeline.h"
#include "compiler/protocol/compile_protocol.h"
#include "compiler/serving/requests.h"

namespace tutti::compiler {

// Single-threaded. Caches the last parsed image: a module's kernels are requested one by one.
class Service {
 public:
  explicit Service(HostTarget target) : target_(std::move(target)) {}

  // Compiles and links a small kernel, so that LLVM and lld have finished their lazy set-up before the sandbox closes.
  Status WarmUp();
  // Answers until the peer closes (no error) or breaks the protocol.
  Status Serve(int socket);
  // One request on `image`. The error is the reply's status and log.
  Result<Made> Answer(const CompileRequest& request, std::vector<uint8_t> image);

 private:
  static void GiveUp(void* self, const char* reason, bool);
  Result<ImageCompiler*> Open(std::vector<uint8_t> image, uint32_t capability);

  // Fails for kernels that it is not for, or whatever else is wrong: then the caller compiles as without.
  Result<std::vector<uint8_t>> CompileQuick(ImageCompiler& compiler, const std::string& kernel, CompileOptions options);

  HostTarget target_;
  int socket_ = -1;
  bool makes_quick_ = false;  // now
  std::vector<uint8_t> image_;
  uint32_t capability_ = 0;
  std::unique_ptr<ImageCompiler> compiler_;
};

}  // namespace tutti::compiler
