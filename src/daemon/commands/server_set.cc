#include "daemon/commands/server_set.h"

#include <fmt/format.h>

#include <iterator>

namespace tutti::daemon::commands {
namespace {

// Its destructor answers, when the last reference is dropped.
struct Complaints {
  std::string text;
  Reply reply;
  explicit Complaints(Reply to) : reply(std::move(to)) {}
  ~Complaints() { reply.Text(std::move(text)); }
};

}  // namespace

void SetOnServers(const CommandCall& call, const std::vector<ServerHandle*>& servers, const wire::ServerSet& set) {
  const auto complaints = std::make_shared<Complaints>(call.reply);
  for (ServerHandle* server : servers) {
    server->Ask(wire::MessageKind::kServerSet, set,
                [complaints, pid = server->pid()](const Result<ServerHandle::Reply>& answer) {
                  if (!answer) {
                    complaints->text += answer.error().text + "\n";
                  } else if (answer->body.status != 0) {
                    fmt::format_to(std::back_inserter(complaints->text), "Server {}: {}\n", pid, answer->body.text);
                  }
                });
  }
}

}  // namespace tutti::daemon::commands
