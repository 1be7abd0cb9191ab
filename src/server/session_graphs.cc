// Graphs that kernels launch: uploaded, launched and dropped.
#include <fmt/format.h>

#include "server/session.h"
#include "wire/graph_description.h"
#include "wire/validate.h"

namespace tutti::server {

using wire::RecordKind;

Status Session::HandleGraph(const wire::Untrusted<wire::RawRecord>& untrusted) {
  const wire::RawRecord& head = untrusted.Unchecked();
  switch (head.kind) {
    case RecordKind::kGraphLaunch: {
      const wire::GraphLaunchBody launch = wire::ValidateGraphLaunch(untrusted);
      return space_->LaunchGraph(head.stream, head.ticket, launch.graph, launch.environment);
    }
    case RecordKind::kEnvironmentEnd:
      return space_->EndEnvironment(head.stream, head.ticket, wire::ValidateEnvironmentEnd(untrusted).environment);
    case RecordKind::kGraphDrop: space_->DropGraph(wire::ValidateGraphDrop(untrusted).graph); return {};
    default: return HandleGraphUpload(untrusted);
  }
}

// A description may be long, so it is read on a loader. Later records wait in the ring, since they may launch it.
Status Session::HandleGraphUpload(const wire::Untrusted<wire::RawRecord>& untrusted) {
  TUTTI_ASSIGN(const wire::GraphUploadBody body,
               wire::ValidateGraphUpload(untrusted, static_cast<uint32_t>(services_.backend->devices().size())));
  TUTTI_TRY(MayUse(body.device));
  const uint8_t* const bytes = space_->Reached(body.address, body.bytes);
  if (bytes == nullptr) {
    return Fail(fmt::format("a graph at {:#x}, outside of what the server reaches of the window", body.address));
  }
  Pause();
  OnLoader([self = shared_from_this(), body, reply = untrusted.Unchecked().reply,
            description = std::vector<uint8_t>(bytes, bytes + body.bytes)] {
    if (self->over()) return;
    auto nodes = wire::ParseGraph(description);
    if (!nodes) {
      self->Break(nodes.error().text);
    } else {
      self->sink_->ReplyWith(reply, self->space_->UploadGraph(body.device, body.graph, std::move(*nodes),
                                                              (body.flags & wire::kGraphIsNode) != 0));
    }
    self->Resume();
  });
  return {};
}

}  // namespace tutti::server
