#include "daemon/control/connection.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "control/command_message.h"
#include "control/words.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kSilenceNs = 10'000'000'000;  // for the first message
constexpr uint64_t kMomentNs = 20'000'000;       // within which most connections are over
constexpr uint64_t kReadingNs = 30'000'000'000;  // within which a peer must read some of its answer
// Reads and drops what it sends; takes microseconds.
constexpr PeerRules kRules{.one_at_a_time = true};

// Programs poll with these commands, once a second or more often: it would flood the log.
bool IsPolling(std::string_view line) { return line == "report" || line.starts_with("device_share"); }

void LogLines(LogBudget& log, const std::string& party, std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    log.Info(party, "{}", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

Connection::Connection(const Keeper& keeper, uint64_t id, Visitor visitor, os::StrangersFd socket, Route route)
    : keeper_(keeper),
      id_(id),
      visitor_(std::move(visitor)),
      party_(visitor_.party()),
      route_(std::move(route)),
      socket_(keeper.loop, socket.Release(), kRules) {}

Connection::~Connection() {
  keeper_.loop.Cancel(patience_);
  if (is_shell_) keeper_.log.Info(party_, "UI closed");
}

void Connection::HearFirst() {
  auto first = socket_.First();
  if (!first) return;
  if (first->closed) return End();
  Received(std::move(*first));
}

void Connection::Start() {
  if (silent()) ExpectFirst();
  socket_.Start([this](ipc::Envelope message) { Received(std::move(message)); }, [this] { End(); });
}

void Connection::ExpectFirst() {
  patience_ = keeper_.loop.After(kMomentNs, [this] {
    patience_ = keeper_.loop.After(kSilenceNs - kMomentNs, [this] { End(); });
    Stays();
  });
}

// It keeps a place that others may want.
void Connection::Stays() {
  if (visitor_.cgroup) return;
  keeper_.use.learn_cgroup(visitor_, socket_.fd());
  keeper_.visitor_changed(id_);
}

void Connection::End() { keeper_.ended(id_); }

void Connection::Received(ipc::Envelope message) {
  keeper_.loop.Cancel(std::exchange(patience_, 0));
  if (message.head.kind == wire::MessageKind::kHello && !is_shell_) return ReceivedHello(message);
  if (message.head.kind == wire::MessageKind::kCommand) return ReceivedCommand(message);
  keeper_.log.Info(party_, "Unable to read new connection type information");
  End();
}

void Connection::ReceivedHello(const ipc::Envelope& message) {
  ByteReader in(message.body);
  auto hello = wire::GetHello(in);
  if (!hello) {
    keeper_.log.Info(party_, "A client of user {} is refused: {}", visitor_.uid, hello.error().text);
    return End();
  }
  keeper_.use.client_arrived({visitor_, std::move(*hello), os::StrangersFd(socket_.Release()), route_});
  End();
}

void Connection::ReceivedCommand(const ipc::Envelope& message) {
  const auto line = control::ReadCommand(message.body);
  if (!line) {
    keeper_.log.Info(party_, "A shell of user {} is disconnected: {}", visitor_.uid, line.error().text);
    return End();
  }
  if (!is_shell_) {
    keeper_.log.Info(party_, "NEW UI");
    Stays();
  }
  is_shell_ = true;
  Run(message.head.serial, *line);
}

void Connection::Run(uint32_t serial, const std::string& line) {
  running_ = true;
  const bool quiet = IsPolling(line);
  if (!quiet) keeper_.log.Info(party_, "Cmd:{}", line);
  Reply reply([weak = weak_from_this(), &log = keeper_.log, party = party_, serial, quiet](CommandAnswer answer) {
    if (!quiet) LogLines(log, party, answer.text);
    if (const auto self = weak.lock()) self->Answered(serial, std::move(answer));
  });
  keeper_.use.run_command(visitor_, route_, control::SplitWords(line), std::move(reply));
}

void Connection::Answered(uint32_t serial, CommandAnswer answer) {
  // Names and texts come from clients and servers, and the reader may be a terminal.
  answer.text = PrintableLines(answer.text);
  const auto pieces = control::SplitReply(answer.text);
  std::vector<os::Fd> files = std::move(answer.files);
  // A packet carries a limited number of descriptors, so files travel in packets of their own, ahead of the text.
  while (files.size() > os::kMaxMessageFds) {
    std::vector<os::Fd> some(std::make_move_iterator(files.begin()),
                             std::make_move_iterator(files.begin() + os::kMaxMessageFds));
    files.erase(files.begin(), files.begin() + os::kMaxMessageFds);
    socket_.Send(control::PackCommandReply(serial, {.more = true}), std::move(some));
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const bool last = i + 1 == pieces.size();
    socket_.Send(control::PackCommandReply(serial, {.exit_status = answer.exit_status,
                                                    .more = !last,
                                                    .ending = answer.ending,
                                                    .text = std::string(pieces[i])}),
                 last ? std::exchange(files, {}) : std::vector<os::Fd>());
  }
  running_ = false;
  if (!socket_.idle() && !keeper_.may_leave_unread(visitor_)) {
    keeper_.log.Info(party_, "A shell of user {} is disconnected: it leaves too much unread", visitor_.uid);
    // Deferred: never from inside the command's handler.
    keeper_.loop.Cancel(patience_);
    patience_ = keeper_.loop.After(0, [this] { End(); });
    return;
  }
  socket_.Next();
  if (!socket_.idle()) ExpectReading(socket_.queued_bytes());
}

void Connection::ExpectReading(size_t unread_bytes) {
  keeper_.loop.Cancel(patience_);
  patience_ = keeper_.loop.After(kReadingNs, [this, unread_bytes] {
    patience_ = 0;
    if (socket_.idle()) return;
    if (socket_.queued_bytes() < unread_bytes) return ExpectReading(socket_.queued_bytes());
    keeper_.log.Info(party_, "A shell of user {} is disconnected: it does not read its answers", visitor_.uid);
    End();
  });
}

}  // namespace tutti::daemon
