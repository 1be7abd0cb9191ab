// A worker's side of compiler/protocol: one request after the other, until its server closes.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compiler/protocol/compile_protocol.h"

namespace tutti::compiler {

// The bytes for a request's file.
struct Made {
  Made(std::vector<uint8_t> made, bool quick = false) : bytes(std::move(made)), is_quick(quick) {}
  std::vector<uint8_t> bytes;
  bool is_quick;  // of CompileReply
};

// The error is the reply's status and log.
using AnswerRequest = std::function<Result<Made>(const CompileRequest& request, std::vector<uint8_t> image)>;

// On the calling thread. Returns when the peer closes (no error) or breaks the protocol.
Status ServeRequests(int socket, const AnswerRequest& answer);

// What a request gets that `answer` cannot return from.
Status SendFailure(int socket, const Error& error, bool is_quick = false);

}  // namespace tutti::compiler
