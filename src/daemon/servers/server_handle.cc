#include "daemon/servers/server_handle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "daemon/access/visitor.h"
#include "os/filled_memory.h"
#include "os/pidfd.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kStartPatienceNs = 30 * kSecondNs;
constexpr uint64_t kEndPatienceNs = 2 * kSecondNs;
constexpr uint64_t kHearPatienceNs = kSecondNs;  // of another server
constexpr uint64_t kMostAnswerBytes = 16 << 20;  // the longest answer lists all clients

// A transient failure of ours must not end the server and its clients.
constexpr PeerRules kRules{.may_lose = 100};

// Reaps a process that has ended, and returns its exit status, or `otherwise` if it is not our child. If its user
// traces it, it cannot be reaped until the tracer detaches; it is then reaped later, and nobody waits for it.
int Collect(EventLoop& loop, pid_t pid, int otherwise) {
  int status = 0;
  const pid_t collected = waitpid(pid, &status, WNOHANG);
  if (collected == 0) loop.After(kSecondNs, [&loop, pid] { Collect(loop, pid, 1); });
  if (collected < 0) return otherwise;
  if (collected != pid) return 1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

const char* StateName(ServerState state) {
  switch (state) {
    case ServerState::kInitializing: return "INITIALIZING";
    case ServerState::kActive: return "ACTIVE";
    case ServerState::kFault: return "FAULT";
  }
  return "FAULT";
}

ServerHandle::ServerHandle(EventLoop& loop, LaunchedServer launched, ServerPlan plan, ServerSettings settings,
                           std::string started_for, LogBudget& log)
    : loop_(loop),
      log_(log),
      started_for_(std::move(started_for)),
      launched_(std::move(launched)),
      start_ticks_(os::StartTicks(launched_.pid)),
      plan_(std::move(plan)),
      settings_(std::move(settings)),
      channel_(loop, std::move(launched_.channel), kRules),
      started_ns_(NowNs()) {}

ServerHandle::ServerHandle(EventLoop& loop, ServerLeft left, LogBudget& log)
    : loop_(loop),
      log_(log),
      started_for_(kAdministrators),
      launched_(std::move(left.launched)),
      start_ticks_(left.start_ticks != 0 ? left.start_ticks : os::StartTicks(launched_.pid)),
      adopted_(true),
      silent_(left.silent),
      plan_(std::move(left.plan)),
      channel_(loop, std::move(launched_.channel), kRules),
      state_(ServerState::kActive),
      stopping_(true),
      understands_(left.version == wire::kProtocolVersion && channel_.fd() >= 0),
      version_(left.version),
      devices_(std::move(left.devices)),
      started_ns_(left.started_ns),
      next_serial_(left.next_serial),
      unheard_(left.unheard) {}

ServerHandle::ServerHandle(EventLoop& loop, LaunchedServer met, const ServerRecord& record, LogBudget& log)
    : loop_(loop),
      log_(log),
      started_for_(record.started_for),
      launched_(std::move(met)),
      start_ticks_(record.start_ticks),
      adopted_(true),
      silent_(true),
      plan_(record.plan),
      settings_(record.settings),
      policy_(record.policy),
      channel_(loop, std::move(launched_.channel), kRules),
      version_(record.version),
      started_ns_(record.started_ns) {
  if (channel_.fd() < 0) OnlyFollow();
}

void ServerHandle::OnlyFollow() {
  silent_ = false;
  understands_ = false;
  stopping_ = true;
  state_ = ServerState::kActive;
}

ServerRecord ServerHandle::Record() const {
  return {.rendezvous = launched_.rendezvous,
          .pid = pid(),
          .start_ticks = start_ticks_,
          .version = version_,
          .plan = plan_,
          .started_ns = started_ns_,
          .started_for = started_for_,
          .stopping = stopping_,
          .forced = forced_,
          .policy = policy_,
          .settings = settings_};
}

ServerLeaving ServerHandle::Leave() const {
  return {.pid = pid(),
          .process_fd = launched_.process.get(),
          .channel_fd = channel_.fd(),
          .rendezvous = launched_.rendezvous,
          .start_ticks = start_ticks_,
          .version = version_,
          .forced = forced_,
          .silent = silent_,
          .next_serial = next_serial_,
          .unheard = unheard_ + static_cast<uint32_t>(asked_.size()),
          .plan = plan_,
          .started_ns = started_ns_,
          .devices = devices_};
}

ServerHandle::~ServerHandle() {
  loop_.Unwatch(process_watch_);
  loop_.Cancel(kill_timer_);
  for (const auto& [serial, asked] : asked_) loop_.Cancel(asked.patience);
}

void ServerHandle::Start(std::function<void()> reported, std::function<void(int)> exited) {
  reported_ = std::move(reported);
  exited_ = std::move(exited);
  process_watch_ = loop_.Watch(launched_.process.get(), EPOLLIN, [this](uint32_t) { Exited(); });
  if (channel_.fd() < 0) return;
  channel_.Start([this](ipc::Envelope message) { Received(std::move(message)); }, [this] { ChannelEnded(); });
  if (state_ != ServerState::kInitializing) return;  // taken over
  kill_timer_ = loop_.After(kStartPatienceNs, [this] { NotReady(); });
}

// Its exit status will say why. But one that was to be adopted may only have had no descriptor for us: it goes on with
// its clients, and if it has none, ends soon.
void ServerHandle::ChannelEnded() {
  if (!unheard() || forced_) return KillAfter(kEndPatienceNs);
  log_.Info(started_for_, "Server {} does not take this daemon: it ends with its last client", pid());
  loop_.Cancel(std::exchange(kill_timer_, 0));
  const os::StrangersFd ended(channel_.Release());  // the next program must not take it for a connection that ends anew
  OnlyFollow();
  reported_();
}

// One that has clients goes on with them: it may be stopped, and what it hears first when it is not is to take no more.
void ServerHandle::NotReady() {
  if (!adopted_) return Break(fmt::format("server {} was not ready after {} s", pid(), kStartPatienceNs / kSecondNs));
  log_.Info(started_for_, "Server {} does not answer this daemon after {} s: it ends with its last client", pid(),
            kStartPatienceNs / kSecondNs);
  Shutdown(false);
  reported_();
}

void ServerHandle::Attach(const wire::Attach& attach, os::StrangersFd client) {
  ByteWriter body;
  wire::Put(body, attach);
  std::vector<os::Fd> fds;
  fds.push_back(client.Release());
  channel_.Send(wire::Pack(wire::MessageKind::kAttach, next_serial_++, std::move(body)), std::move(fds));
}

void ServerHandle::SetLog(os::Fd file) {
  if (!understands_ || !file) return;
  ByteWriter body;
  wire::Put(body, wire::ServerSet{.what = wire::SettingKind::kLog});
  std::vector<os::Fd> fds;
  fds.push_back(std::move(file));
  channel_.Send(wire::Pack(wire::MessageKind::kServerSet, next_serial_++, std::move(body)), std::move(fds));
  ++unheard_;
}

void ServerHandle::Shutdown(bool force) {
  stopping_ = true;
  forced_ = forced_ || force;
  if (understands_) {
    ByteWriter body;
    wire::Put(body, wire::ServerShutdown{.force = force});
    channel_.Send(wire::Pack(wire::MessageKind::kServerShutdown, next_serial_++, std::move(body)));
    ++unheard_;
  }
  if (force) KillAfter(kEndPatienceNs);
}

// By its descriptor: of a server that is no child of ours the number may be another's by now.
void ServerHandle::Kill() {
  killed_ = true;
  syscall(SYS_pidfd_send_signal, launched_.process.get(), SIGKILL, nullptr, 0);
}

void ServerHandle::KillAfter(uint64_t delay_ns) {
  loop_.Cancel(kill_timer_);
  kill_timer_ = loop_.After(delay_ns, [this] {
    log_.Info(started_for_, "Server {} did not end on request, killing it", pid());
    Kill();
  });
}

void ServerHandle::Introduce(const wire::ServerPeer& peer, os::Fd page, ReplyFunction reply) {
  ByteWriter body;
  wire::Put(body, peer);
  std::vector<os::Fd> files;
  files.push_back(std::move(page));
  SendRequest(wire::MessageKind::kServerPeer, std::move(body), std::move(files), std::move(reply), kHearPatienceNs);
}

void ServerHandle::SendRequest(wire::MessageKind kind, ByteWriter body, std::vector<os::Fd> sent, ReplyFunction reply,
                               uint64_t patience_ns) {
  if (!understands_)
    return reply(Fail(fmt::format("Server {} is not connected to this daemon: it ends with its last client", pid())));
  os::Fd file;
  if (kind == wire::MessageKind::kServerQuery) {
    auto made = os::CreateMemoryToFill("tutti-answer");
    if (!made) return reply(std::unexpected(made.error()));
    file = std::move(*made);
    sent.emplace_back(fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
    if (!sent.back()) return reply(FailErrno("a descriptor for an answer"));
  }
  const uint32_t serial = next_serial_++;
  const TimerId patience = loop_.After(patience_ns, [this, serial] {
    ++unheard_;
    Answer(serial, Fail(fmt::format("Server {} does not answer", pid())));
  });
  asked_.emplace(serial, Asked{std::move(reply), patience, std::move(file)});
  channel_.Send(wire::Pack(kind, serial, std::move(body)), std::move(sent));
}

// Its answer, from the packet or from the file that came with the query.
void ServerHandle::ReceivedReply(ipc::Envelope message) {
  const auto asked = asked_.find(message.head.serial);
  const int file = asked != asked_.end() ? asked->second.file.get() : -1;
  if ((message.head.flags & wire::kBodyInAskersFile) != 0 && file >= 0) {
    auto bytes = os::ReadFilledMemory(file, kMostAnswerBytes);
    if (!bytes) return Break(bytes.error().text);
    message.body = std::move(*bytes);
  } else if ((message.head.flags & wire::kBodyInAskersFile) != 0) {
    return Answer(message.head.serial, {});  // late: its file is gone
  }
  ByteReader in(message.body);
  auto body = wire::GetServerReply(in);
  if (!body) return Break(body.error().text);
  Answer(message.head.serial, std::move(*body));
}

void ServerHandle::Answer(uint32_t serial, Result<wire::ServerReply> body) {
  auto asked = asked_.extract(serial);
  if (asked.empty()) {  // late: the request has already timed out
    if (unheard_ == 0) return Break("it answers what it was not asked");
    --unheard_;
    return;
  }
  loop_.Cancel(asked.mapped().patience);
  if (!body) return asked.mapped().reply(std::unexpected(body.error()));
  asked.mapped().reply(Reply{std::move(*body), std::move(asked.mapped().file)});
}

void ServerHandle::Received(ipc::Envelope message) {
  if (!understands_) return;
  ByteReader in(message.body);
  if (message.head.kind == wire::MessageKind::kServerReady && state_ == ServerState::kInitializing) {
    const auto ready = wire::GetServerReady(in);
    return ready ? ReceivedReady(*ready) : Break(ready.error().text);
  }
  if (message.head.kind == wire::MessageKind::kServerReply) return ReceivedReply(std::move(message));
  // To a daemon that had adopted it, and went on as another program before it heard that.
  if (message.head.kind == wire::MessageKind::kServerReady && silent_) return void(silent_ = false);
  Break(fmt::format("message kind {} was not expected", static_cast<int>(message.head.kind)));
}

void ServerHandle::ReceivedReady(const wire::ServerReady& ready) {
  if (!forced_) loop_.Cancel(std::exchange(kill_timer_, 0));
  silent_ = false;
  devices_ = ready.devices;
  if (ready.error.empty()) {
    state_ = ServerState::kActive;
  } else {
    failure_ = ready.error;
    stopping_ = true;
    KillAfter(kEndPatienceNs);
  }
  reported_();
}

// The server violates the protocol. It runs as its user, who may have caused that, so only this server ends.
void ServerHandle::Break(const std::string& why) {
  log_.Info(started_for_, "Server {} is ended: {}", pid(), why);
  failure_ = why;
  stopping_ = true;
  Kill();
}

// Of a server that another daemon has started only that one could know: it ends by itself when it is told to.
int ServerHandle::ExitStatus() { return Collect(loop_, pid(), killed_ ? 128 + SIGKILL : stopping_ ? 0 : 1); }

void ServerHandle::GiveUpRequests() {
  auto asked = std::exchange(asked_, {});
  for (auto& [serial, entry] : asked) {
    loop_.Cancel(entry.patience);
    entry.reply(Fail(fmt::format("Server {} ended before it had answered", pid())));
  }
}

// Its end may be seen before what it has said last: why it cannot serve.
void ServerHandle::HearWhyItEnded() {
  if (state_ != ServerState::kInitializing || !failure_.empty() || !understands_) return;
  const auto last = channel_.First();
  if (!last || last->closed || last->head.kind != wire::MessageKind::kServerReady) return;
  ByteReader in(last->body);
  const auto ready = wire::GetServerReady(in);
  if (!ready || ready->error.empty()) return;
  failure_ = ready->error;
  reported_();
}

void ServerHandle::Exited() {
  loop_.Unwatch(process_watch_);
  HearWhyItEnded();
  const int status = ExitStatus();
  GiveUpRequests();
  const auto exited = exited_;
  exited(status);
}

}  // namespace tutti::daemon
