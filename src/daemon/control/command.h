// A control command as its handler sees it: the caller, the words, and where the answer goes. Daemon thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/access/visitor.h"
#include "daemon/servers/server_catalog.h"
#include "os/fd.h"

namespace tutti::daemon {

struct CommandContext;

struct CommandAnswer {
  std::string text;  // whole lines
  int exit_status = 0;
  bool ending = false;  // the daemon ends once this is sent
  std::vector<os::Fd> files;
};

// A promise of one answer, to be given exactly once, now or later. Copies share it. A second answer is ignored, and so
// is an answer to a caller that has left.
class Reply {
 public:
  explicit Reply(std::function<void(CommandAnswer)> send)
      : send_(std::make_shared<std::function<void(CommandAnswer)>>(std::move(send))) {}

  void Finish(CommandAnswer answer) const {
    if (auto send = std::exchange(*send_, nullptr)) send(std::move(answer));
  }
  void Text(std::string lines) const { Finish({.text = std::move(lines)}); }
  void Line(std::string line) const { Text(std::move(line) + "\n"); }
  void Nothing() const { Finish({}); }

 private:
  std::shared_ptr<std::function<void(CommandAnswer)>> send_;
};

struct CommandCall {
  const CommandContext& context;
  Visitor caller;
  std::vector<std::string> words;  // words[0] is the command
  Reply reply;
  Route route = {};  // of the socket that the caller came by

  // The word at `index`, or "" if the line is shorter.
  std::string_view word(size_t index) const {
    return index < words.size() ? std::string_view(words[index]) : std::string_view();
  }
};

struct Command {
  std::string_view name;
  std::string_view usage;    // after the name: "-uid UID"
  std::string_view summary;  // one line for `help`
  void (*run)(const CommandCall& call);
  bool every_protocol = false;  // exists in protocol 3 as well: our own commands, and those about one running client
};

// Runs the command that the line names, in the language of the daemon's protocol, or answers `Unknown command "..."`.
void RunCommand(const CommandCall& call);

}  // namespace tutti::daemon
