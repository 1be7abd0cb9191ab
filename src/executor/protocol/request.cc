#include "executor/protocol/request.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::executor {
namespace {

void PutText(ByteWriter& out, const std::string& text) {
  out.PutString(std::string_view(text).substr(0, kMostTextBytes));
}

}  // namespace

std::vector<uint8_t> Serialize(const Request& request) {
  ByteWriter out;
  out.Put(request.kind);
  out.Put(request.address);
  out.Put(request.bytes);
  out.Put(request.host_bytes);
  out.Put(request.module);
  out.Put(request.kernel);
  out.Put(request.block_threads);
  out.Put(request.dynamic_shared_bytes);
  out.Put(request.limit);
  out.Put(request.flags);
  out.PutBytes(request.details);
  return out.Take();
}

Result<Request> ParseRequest(std::span<const uint8_t> bytes) {
  ByteReader in(bytes);
  Request request;
  request.kind = static_cast<RequestKind>(in.Get<uint32_t>());
  request.address = in.Get<uint64_t>();
  request.bytes = in.Get<uint64_t>();
  request.host_bytes = in.Get<uint64_t>();
  request.module = in.Get<uint32_t>();
  request.kernel = in.Get<uint32_t>();
  request.block_threads = in.Get<uint32_t>();
  request.dynamic_shared_bytes = in.Get<uint32_t>();
  request.limit = in.Get<int32_t>();
  request.flags = in.Get<uint32_t>();
  const auto details = in.GetBytes();
  request.details.assign(details.begin(), details.end());
  if (!in.ok() || !in.at_end()) return Fail("a request that is none");
  return request;
}

std::vector<uint8_t> Serialize(const Answer& answer) {
  ByteWriter out;
  out.Put(answer.status);
  PutText(out, answer.text);
  out.Put(answer.value);
  out.Put(answer.managed_bytes);
  out.Put(answer.other_bytes);
  return out.Take();
}

Result<Answer> ParseAnswer(std::span<const uint8_t> bytes) {
  ByteReader in(bytes);
  Answer answer;
  answer.status = in.Get<int32_t>();
  answer.text = in.GetString();
  answer.value = in.Get<uint64_t>();
  answer.managed_bytes = in.Get<uint64_t>();
  answer.other_bytes = in.Get<uint64_t>();
  if (!in.ok() || !in.at_end() || answer.status < 0) return Fail("an answer that is none");
  return answer;
}

std::vector<uint8_t> Serialize(const Hello& hello) {
  ByteWriter out;
  out.Put(kProtocolVersion);
  out.Put(hello.status);
  PutText(out, hello.text);
  out.Put(hello.device);
  return out.Take();
}

Result<Hello> ParseHello(std::span<const uint8_t> bytes) {
  ByteReader in(bytes);
  if (const uint32_t version = in.Get<uint32_t>(); in.ok() && version != kProtocolVersion)
    return Fail(
        fmt::format("an executor of another version ({} in place of {}), as after an upgrade: a server that runs "
                    "needs the executors it came with; the next one starts when its programs have ended",
                    version, kProtocolVersion));
  Hello hello;
  hello.status = in.Get<int32_t>();
  hello.text = in.GetString();
  hello.device = in.Get<wire::DeviceInfo>();
  if (!in.ok() || !in.at_end() || hello.status < 0) return Fail("a beginning that is none");
  hello.device.name[sizeof hello.device.name - 1] = '\0';
  return hello;
}

}  // namespace tutti::executor
