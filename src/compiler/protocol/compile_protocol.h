// Between the device (device/compile/compiler_pool) and a worker, tutti-compiler or tutti-fence: one SOCK_SEQPACKET
// pair, one request at a time. Requests and replies are base/bytes.h strings in the order of the fields.
//
// The worker gets the image as a memory file, and another one to write its result into: it sends no descriptors, since
// the kernel refuses those of a process with few of its own while its user has more than that in flight elsewhere
// (ETOOMANYREFS). It runs with no file system, no network, and limits on memory and CPU time; it may die at any moment,
// which fails the request and nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace tutti::compiler {

enum class CompileOp : uint32_t {
  kIndex = 1,  // image -> ModuleIndex
  kKernel = 2,  // image + kernel name + block shape -> shared object
  kFence = 3,  // tutti-fence alone: image -> FencedImage (compiler/protocol/fenced_image.h)
};

// Fd 0 of the message: the image: PTX text, or a fatbin (any compression), or several images in one
// (image/image_list.h). Fd 1: an empty memory file (os/filled_memory.h) for the serialized ModuleIndex or
// FencedImage, or the shared object.
struct CompileRequest {
  CompileOp op = CompileOp::kIndex;
  std::string kernel;  // of module::kMostNameBytes at most, as every kernel of an index
  uint32_t block[3] = {0, 0, 0};
  uint32_t optimize = 2;  // 0 .. 3
  uint32_t capability = 0;  // 80 for 8.0: which of several PTX texts is meant (image/ptx_selection.h)
  bool quick = false;  // kKernel: code that is there soon, if the kernel is suited; else as without
};

// If status == 0 the result is in the request's file.
struct CompileReply {
  int32_t status = 0;  // CUresult: INVALID_PTX, NO_BINARY_FOR_GPU, UNSUPPORTED_PTX_VERSION, INVALID_IMAGE, ...
  std::string log;  // diagnostics with line and caret
  bool is_quick = false;  // the result is quick code, or what failed was making that
};

std::vector<uint8_t> Serialize(const CompileRequest& request);
std::vector<uint8_t> Serialize(const CompileReply& reply);
Result<CompileRequest> ParseCompileRequest(std::span<const uint8_t> bytes);
Result<CompileReply> ParseCompileReply(std::span<const uint8_t> bytes);

// Descriptor number on which the worker finds its socket.
inline constexpr int kCompilerSocketFd = 3;
// And the one of its server's lifeline (os/lifeline.h).
inline constexpr int kCompilerLifelineFd = 0;

}  // namespace tutti::compiler
