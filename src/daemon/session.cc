#include "daemon/session.h"

#include <fmt/format.h>

#include "base/log.h"
#include "control/command_message.h"
#include "control/words.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kSilenceNs = 10'000'000'000;  // for the first message
constexpr size_t kMaxWaitingCommands = 256;

// Programs poll with this one, once a second and more: it would bury everything else in the log.
bool IsPolling(std::string_view line) { return line == "report"; }

void LogLines(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    log::Info("{}", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

Session::Session(ControlDaemon& daemon, uint64_t id, os::PeerCredentials peer, os::Fd socket, Route route)
    : daemon_(daemon), id_(id), peer_(peer), route_(std::move(route)), socket_(daemon.loop(), std::move(socket)) {}

Session::~Session() {
  daemon_.loop().Cancel(silence_);
  if (is_shell_) log::Info("UI closed");
}

void Session::Start() {
  silence_ = daemon_.loop().After(kSilenceNs, [this] { End(); });
  socket_.Start([this](ipc::Envelope message) { Received(std::move(message)); }, [this] { End(); });
}

void Session::End() { daemon_.Remove(id_); }

void Session::Received(ipc::Envelope message) {
  daemon_.loop().Cancel(std::exchange(silence_, 0));
  if (message.head.kind == wire::MessageKind::kHello && !is_shell_) return ReceivedHello(message);
  if (message.head.kind == wire::MessageKind::kCommand) return ReceivedCommand(message);
  log::Info("Unable to read new connection type information");
  End();
}

void Session::ReceivedHello(const ipc::Envelope& message) {
  ByteReader in(message.body);
  auto hello = wire::GetHello(in);
  if (!hello) {
    log::Info("A client of user {} is refused: {}", peer_.uid, hello.error().text);
    return End();
  }
  daemon_.broker_.Arrived({peer_, std::move(*hello), socket_.Release(), route_});
  End();
}

void Session::ReceivedCommand(const ipc::Envelope& message) {
  auto line = control::ReadCommand(message.body);
  if (!line || waiting_.size() >= kMaxWaitingCommands) {
    log::Info("A shell of user {} is disconnected: {}", peer_.uid, line ? "it does not wait for answers" : line.error().text);
    return End();
  }
  if (!is_shell_) log::Info("NEW UI");
  is_shell_ = true;
  waiting_.push_back({message.head.serial, std::move(*line)});
  RunNext();
}

void Session::RunNext() {
  if (running_ || waiting_.empty()) return;
  running_ = true;
  const Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  const bool quiet = IsPolling(next.line);
  if (!quiet) log::Info("Cmd:{}", next.line);
  Reply reply([weak = weak_from_this(), serial = next.serial, quiet](CommandAnswer answer) {
    if (!quiet) LogLines(answer.text);
    if (const auto self = weak.lock()) self->Answered(serial, std::move(answer));
  });
  RunCommand({daemon_, peer_, control::SplitWords(next.line), std::move(reply)});
}

void Session::Answered(uint32_t serial, CommandAnswer answer) {
  const auto pieces = control::SplitReply(answer.text);
  std::vector<os::Fd> files = std::move(answer.files);
  // A packet carries few descriptors, so many files travel on packets of their own, ahead of the text.
  while (files.size() > os::kMaxMessageFds) {
    std::vector<os::Fd> some(std::make_move_iterator(files.begin()), std::make_move_iterator(files.begin() + os::kMaxMessageFds));
    files.erase(files.begin(), files.begin() + os::kMaxMessageFds);
    socket_.Send(control::PackCommandReply(serial, {.more = true}), std::move(some));
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const bool last = i + 1 == pieces.size();
    socket_.Send(control::PackCommandReply(serial, {.exit_status = answer.exit_status, .more = !last, .ending = answer.ending,
                                                    .text = std::string(pieces[i])}),
                 last ? std::move(files) : std::vector<os::Fd>());
  }
  running_ = false;
  // Not from inside the handler of the command before.
  daemon_.loop().After(0, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->RunNext();
  });
}

}  // namespace tutti::daemon
