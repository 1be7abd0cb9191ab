// A worker's side of compiler/protocol: one request after the other, until its server closes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/error.h"
#include "compiler/protocol/compile_protocol.h"

namespace tutti::compiler {

// The bytes for the request's file. The error is the reply's status and log.
using AnswerRequest =
    std::function<Result<std::vector<uint8_t>>(const CompileRequest& request, std::vector<uint8_t> image)>;

// On the calling thread. Returns when the peer closes (no error) or breaks the protocol.
Status ServeRequests(int socket, const AnswerRequest& answer);

// What a request gets that `answer` cannot return from.
Status SendFailure(int socket, const Error& error);

}  // namespace tutti::compiler
