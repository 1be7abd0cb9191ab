// Memory that clients share: records and messages that export, import and map it. The records' functions are called
// with the ring's lock held, like those of session_records.cc.
#include <fmt/format.h>

#include "base/log.h"
#include "cuda/result.h"
#include "server/export_table.h"
#include "server/session.h"
#include "wire/validate.h"

namespace tutti::server {
namespace {

int32_t CodeOf(const Error& error) { return error.code != 0 ? error.code : cuda::CUDA_ERROR_INVALID_VALUE; }

}  // namespace

ExportTable::Client Session::AsSharer() const {
  return {.id = info_.id, .uid = info_.uid, .party = info_.party, .policy = info_.sharing};
}

Status Session::HandleSharing(const wire::Untrusted<wire::RawRecord>& untrusted) {
  const wire::RawRecord& head = untrusted.Unchecked();
  const auto refuse = [&](const Error& error) -> Status {
    log::Debug("Client {}: {}", info_.pid, error.text);
    sink_->Refuse(head.reply, error);
    return {};
  };
  switch (head.kind) {
    case wire::RecordKind::kMap: {
      TUTTI_ASSIGN(const wire::MapBody body, wire::ValidateMap(untrusted));
      const Status mapped = HandleMap(body);
      if (!mapped) return refuse(mapped.error());
      sink_->Reply(head.reply, 0, {0, 0, 0, 0});
      return {};
    }
    case wire::RecordKind::kExport: {
      TUTTI_ASSIGN(const wire::ExportBody body, wire::ValidateExport(untrusted));
      const auto memory = ToExport(body);
      if (!memory) return refuse(memory.error());
      const auto name = services_.exports->Add(AsSharer(), *memory);
      if (!name) return refuse(name.error());
      sink_->Reply(head.reply, 0, {name->id, name->secret[0], name->secret[1], (*memory)->bytes()});
      return {};
    }
    case wire::RecordKind::kImport: {
      if (HoldsManyImports()) return Fail("more imported memory than a client may hold");
      auto found = services_.exports->Find(AsSharer(), wire::ValidateImport(untrusted).memory);
      if (!found) return refuse(found.error());
      if (found->memory->host_file() < 0 && IsWithheld(found->memory->device()))
        return refuse(Error{.code = cuda::CUDA_ERROR_NOT_PERMITTED, .text = "memory of a device that it may not use"});
      const device::SharedMemory& memory = *found->memory;
      const uint64_t flags = (found->own ? wire::kImportOwn : 0) | (memory.host_file() >= 0 ? wire::kImportHost : 0);
      const uint64_t number = Keep({.memory = found->memory});
      sink_->Reply(head.reply, 0, {number, memory.bytes(), memory.device(), flags});
      return {};
    }
    case wire::RecordKind::kHostMemory: {
      if (HoldsManyImports()) return Fail("more memory of the host than a client may hold");
      auto memory = space_->CreateHostMemory(wire::ValidateHostMemory(untrusted).bytes);
      if (!memory) return refuse(memory.error());
      sink_->Reply(head.reply, 0, {Keep({.memory = std::move(*memory), .made_here = true}), 0, 0, 0});
      return {};
    }
    default: break;
  }
  Import dropped;  // without the lock
  std::lock_guard lock(imports_mutex_);
  const auto import = imports_.find(wire::ValidateImportDrop(untrusted).number);
  if (import == imports_.end()) return {};
  dropped = std::move(import->second);
  imports_.erase(import);
  return {};
}

bool Session::HoldsManyImports() {
  std::lock_guard lock(imports_mutex_);
  return imports_.size() >= wire::kMostImports;
}

uint64_t Session::Keep(Import import) {
  const uint64_t number = ++last_import_;
  std::lock_guard lock(imports_mutex_);
  imports_.emplace(number, std::move(import));
  return number;
}

std::optional<Session::Import> Session::FindImport(uint64_t number) {
  std::lock_guard lock(imports_mutex_);
  const auto import = imports_.find(number);
  return import != imports_.end() ? std::optional(import->second) : std::nullopt;
}

// What others have exported is not the client's to export again.
Result<std::shared_ptr<device::SharedMemory>> Session::ToExport(const wire::ExportBody& body) {
  using AtEnd = device::Space::AtEnd;
  if (body.source == wire::MapSource::kOwn)
    return space_->Share(body.address, body.end_with_largest != 0 ? AtEnd::kLargest : AtEnd::kKept);
  auto import = FindImport(body.address);
  if (!import || !import->made_here) return Fail(fmt::format("the client has not made memory {}", body.address));
  return std::move(import->memory);
}

Status Session::HandleMap(const wire::MapBody& body) {
  if (body.access == wire::MapAccess::kNone) return space_->Unmap(body.address, body.bytes);
  std::shared_ptr<device::SharedMemory> memory;
  if (body.source == wire::MapSource::kImported) {
    auto import = FindImport(body.memory);
    if (!import) return Fail(fmt::format("import {} does not exist", body.memory));
    memory = std::move(import->memory);
  } else {
    TUTTI_ASSIGN(memory, space_->Share(body.memory, device::Space::AtEnd::kKept));
  }
  if (memory->bytes() != body.bytes)
    return Fail(fmt::format("a mapping of {} bytes of memory of {}", body.bytes, memory->bytes()));
  return space_->Map(body.address, std::move(memory), body.access == wire::MapAccess::kReadWrite);
}

// A private server's client shares nothing but with itself: what it maps in its window may be any file of its own.
Status Session::HandleImportFile(ipc::Envelope envelope) {
  wire::ImportFileReply reply;
  auto memory = services_.shared_server
                    ? Fail(cuda::CUDA_ERROR_NOT_PERMITTED, "a shared server maps no files of its clients")
                    : space_->Adopt(std::move(envelope.fds.front()));
  if (!memory) {
    reply = {.status = CodeOf(memory.error()), .text = memory.error().text};
  } else {
    if (HoldsManyImports()) return Fail("more imported memory than a client may hold");
    reply.bytes = (*memory)->bytes();
    reply.number = Keep({.memory = std::move(*memory)});
  }
  ByteWriter body;
  wire::Put(body, reply);
  Answer(wire::MessageKind::kImportFileReply, envelope.head.serial, std::move(body));
  return {};
}

Status Session::HandleDescribeMemory(const ipc::Envelope& envelope) {
  ByteReader in(envelope.body);
  TUTTI_ASSIGN(const wire::DescribeMemory request, wire::GetDescribeMemory(in));
  const auto descriptor = services_.exports->Describe(AsSharer(), request.memory);
  wire::DescribeMemoryReply reply;
  if (!descriptor) reply = {.status = CodeOf(descriptor.error()), .text = descriptor.error().text};
  ByteWriter body;
  wire::Put(body, reply);
  const int fds[] = {descriptor ? descriptor->get() : -1};
  Answer(wire::MessageKind::kDescribeMemoryReply, envelope.head.serial, std::move(body),
         {fds, descriptor ? size_t{1} : size_t{0}});
  return {};
}

Status Session::HandleHostMemoryFile(const ipc::Envelope& envelope) {
  ByteReader in(envelope.body);
  TUTTI_ASSIGN(const wire::HostMemoryFile request, wire::GetHostMemoryFile(in));
  const auto import = FindImport(request.number);
  const int fds[] = {import ? import->memory->host_file() : -1};
  wire::DescribeMemoryReply reply;
  if (fds[0] < 0) reply = {.status = cuda::CUDA_ERROR_INVALID_VALUE, .text = "the memory is not the host's"};
  ByteWriter body;
  wire::Put(body, reply);
  Answer(wire::MessageKind::kHostMemoryFileReply, envelope.head.serial, std::move(body),
         {fds, fds[0] >= 0 ? size_t{1} : size_t{0}});
  return {};
}

}  // namespace tutti::server
