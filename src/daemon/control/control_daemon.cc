#include "daemon/control/control_daemon.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "control/client_table.h"
#include "control/version.h"
#include "control/words.h"
#include "cuda/result.h"
#include "daemon/control/command.h"
#include "daemon/files/directory.h"
#include "daemon/files/inherited_sockets.h"
#include "daemon/life/settings_commands.h"
#include "daemon/partitions/partition_commands.h"
#include "ipc/message.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kAcceptPauseNs = 50'000'000;

os::Fd SignalDescriptor() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR2}) sigaddset(&wanted, number);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  return os::Fd(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

ControlDaemon::ControlDaemon(std::unique_ptr<EventLoop> loop, Instance instance, DaemonOptions options)
    : loop_(std::move(loop)),
      instance_(std::move(instance)),
      options_(std::move(options)),
      state_file_(options_.places),
      defaults_(Defaults::FromEnvironment()),
      servers_(*loop_, options_.places, defaults_, log_, options_.servers_die),
      catalog_(defaults_, options_.places, options_.multi_user),
      inventory_(*loop_, options_.places, log_),
      broker_({servers_, catalog_, partitions_, claims_, accounting_, log_,
               options_.places.pipe_directory + "/" + kClaimsDirectory, [this] { KeepState(); }},
              options_.static_partitioning),
      shutdown_(*loop_, servers_, broker_),
      sockets_(*loop_, options_.places.pipe_directory, instance_.TakeOtherSockets(), log_,
               {.listen = [this](int listener, const Route& route) { Listen(listener, route); },
                .forget = [this](int listener) { Forget(listener); }}),
      log_fifo_(std::make_unique<LogFifo>(*loop_, instance_.log_fifo(), log_)),
      log_keeper_(
          *loop_, [this] { return Logs(); }, [this] { OpenLogsAnew(); }),
      directory_(*loop_, options_.places.pipe_directory, [this] { PutBackFiles(); }),
      signals_(SignalDescriptor()),
      manager_(*loop_),
      handover_(*loop_, {.quiet = [this] { return Quiet(); },
                         .leave = [this] { return Leave(); },
                         .gave_up = [this] { manager_.Ready(); }}),
      context_{
          .options = options_,
          .access = AccessPolicy(options_.multi_user),
          .loop = *loop_,
          .servers = servers_,
          .catalog = catalog_,
          .sockets = sockets_,
          .inventory = inventory_,
          .partitions = partitions_,
          .claims = claims_,
          .claim_registry = claim_registry_,
          .accounting = accounting_,
          .defaults = defaults_,
          .log = log_,
          .quit = [this](std::optional<uint32_t> timeout_s, Shutdown::Done done) { Quit(timeout_s, std::move(done)); },
          .open_logs_anew = [this] { OpenLogsAnew(); },
          .go_on_as_installed = [this] { GoOnAsInstalled(); },
          .remove_server = [this](const std::string& name) { RemoveServer(name); }},
      connections_(*loop_, log_,
                   {.client_arrived = [this](WaitingClient client) { broker_.Arrived(std::move(client)); },
                    .run_command = [this](const Visitor& caller, const Route& route, std::vector<std::string> words,
                                          Reply reply) { RunFor(caller, route, std::move(words), std::move(reply)); },
                    .needs_cgroups = [this] { return accounting_.needs_cgroups(); }},
                   MaxConnections()),
      claim_registry_(claims_, sockets_, broker_, connections_) {
  servers_.SetObserver({
      .ready = [this](ServerHandle& server) { ServerReady(server); },
      .failed = [this](const std::string& name, const std::string& why) { broker_.ServerFailed(name, why); },
      .awaited = [this](const std::string& name) { return broker_.waiting().HasAnyFor(name); },
      .exited = [this](pid_t, int status) { shutdown_.ServerExited(status); },
      .changed = [this] { KeepState(); },
  });
  loop_->Watch(signals_.get(), EPOLLIN, [this](uint32_t) { Signal(); });
  defaults_.policy = options_.policy;
  if (options_.protocol == 3)
    catalog_.KeepUserServers([this](const NamedServer& server) { return MakePlaceFor(server); });
  Listen(instance_.listener(), {});
  Listen(instance_.privileged_listener(), {});
}

ControlDaemon::~ControlDaemon() {
  keeps_state_ = false;
  connections_.CloseAll();
  // Those that have not ended are left behind, or were started by a daemon that could not begin. That one leaves those
  // that it was to adopt to another.
  for (ServerHandle* server : servers_.All()) server->Kill();
  for (ServerHandle* server : servers_.All()) server->GiveUpRequests();  // while all that they call back is there
  if (owns_state_) state_file_.Remove();
}

int ControlDaemon::Run() {
  log::Info("Starting control daemon using socket {}", options_.places.control_socket());
  log::Info("To connect CUDA applications to this daemon, set env CUDA_MPS_PIPE_DIRECTORY={}",
            options_.places.pipe_directory);
  log::Info("CUDA MPS Control binary version: {}", control::kBinaryVersion);
  sockets_.ForgetInherited();
  os::AwaitClosed();  // starts the closing thread while no untrusted peer can have exhausted the limits
  for (const ServerRecord& server : std::exchange(to_adopt_, {})) servers_.Adopt(server);
  servers_.StartNeeded();
  owns_state_ = true;
  keeps_state_ = !options_.servers_die;
  KeepState();
  if (options_.servers_die) state_file_.Remove();  // of a previous daemon: out of date from here on
  manager_.Ready();
  loop_->Run();
  log::Info("Exit with status {}", exit_status_);
  return exit_status_;
}

void ControlDaemon::Listen(int listener, const Route& route) {
  listening_[listener] = {loop_->Watch(listener, EPOLLIN, [this, listener](uint32_t) { Accept(listener); }), route};
}

// A cleaner of temporary files, or a process in a container that mounts the directory, may remove the files that
// clients need; without recreating them the daemon would be unreachable.
void ControlDaemon::PutBackFiles() {
  constexpr uint64_t kTryAgainNs = 5'000'000'000;
  Status there = instance_.PutBack(
      [this](int closing) {
        if (closing == instance_.log_fifo()) log_fifo_.reset();
        Forget(closing);
      },
      log_);
  if (there) there = sockets_.PutBack();
  state_file_.ForgetIfGone();
  KeepState();
  if (!log_fifo_) log_fifo_ = std::make_unique<LogFifo>(*loop_, instance_.log_fifo(), log_);
  for (const int listener : {instance_.listener(), instance_.privileged_listener()}) {
    if (!listening_.contains(listener)) Listen(listener, {});
  }
  if (!there && there.error().text != not_put_back_)
    log::Error("The pipe directory cannot be repaired: {}", there.error().text);
  not_put_back_ = there ? "" : there.error().text;
  if (!there) directory_.CallAgain(kTryAgainNs);
}

void ControlDaemon::Forget(int listener) {
  if (const auto entry = listening_.extract(listener); !entry.empty()) loop_->Unwatch(entry.mapped().watch);
}

void ControlDaemon::Accept(int listener) {
  auto accepted = os::Accept(listener);
  if (!accepted) {
    // Most likely out of descriptors: connections in the kernel's queue are accepted a little later.
    log_.Info("connections that cannot be accepted", "{}", accepted.error().text);
    connections_.MakeRoom();
    loop_->Unwatch(listening_[listener].watch);
    loop_->After(kAcceptPauseNs, [this, listener] {
      if (const auto entry = listening_.find(listener); entry != listening_.end())
        Listen(listener, Route(entry->second.route));
    });
    return;
  }
  os::StrangersFd socket(std::move(*accepted));
  auto visitor = VisitorAt(socket.get(), listening_[listener].route.claim);
  if (!visitor) return log::Info("User did not send valid credentials");
  log_.Info(visitor->party(), "Accepting connection...");
  connections_.Admit(std::move(socket), std::move(*visitor), listening_[listener].route);
}

void ControlDaemon::Signal() {
  signalfd_siginfo info{};
  if (read(signals_.get(), &info, sizeof info) != sizeof info) return;
  if (info.ssi_signo == SIGHUP) {
    return OpenLogsAnew();
  }
  if (info.ssi_signo == SIGUSR2) return GoOnAsInstalled();
  log::Info("Signal {}: shutting down", info.ssi_signo);
  Quit(0, [](int) {});
}

void ControlDaemon::GoOnAsInstalled() {
  manager_.Reloading();
  handover_.Begin();
}

std::vector<std::string> ControlDaemon::Logs() const {
  std::vector<std::string> logs = servers_.Logs();
  logs.push_back(options_.places.control_log());
  return logs;
}

void ControlDaemon::OpenLogsAnew() {
  if (!log::Open(options_.places.control_log(), "Control"))
    log::Error("The log stays in its old file: {}", FailErrno(options_.places.control_log()).error().text);
  log::Info("Log reopened");
  servers_.OpenLogsAnew();
}

void ControlDaemon::ServerReady(ServerHandle& server) {
  // Another user's server is not trusted about the devices.
  if (server.plan().visible_devices.empty() && server.uid() == geteuid()) inventory_.Learn(server.devices());
  if (!server.adopted()) server.set_policy(defaults_.policy);
  if (!server.adopted() && defaults_.policy != "share") {
    server.Ask(wire::MessageKind::kServerSet,
               wire::ServerSet{.what = wire::SettingKind::kPolicy, .text = defaults_.policy}, [](const auto&) {});
  }
  if (defaults_.trace) {
    server.Ask(wire::MessageKind::kServerSet, wire::ServerSet{.what = wire::SettingKind::kTrace, .number = 1},
               [](const auto&) {});
  }
  MakePartitions(server);
  KeepState();
  broker_.ServerReady(server);
}

// Partitions that were configured while their server did not run.
void ControlDaemon::MakePartitions(const ServerHandle& server) {
  for (Partition& partition : partitions_.all()) {
    if (partition.server != server.name() || partition.server.empty() || partition.created()) continue;
    const auto ordinal = FindDevice(server.devices(), partition.device);
    Status made = ordinal ? Status() : std::unexpected(ordinal.error());
    if (made) {
      partition.device = control::FormatUuid(server.devices()[*ordinal].uuid);
      made = partitions_.Create(partition, server.devices()[*ordinal]);
    }
    if (!made)
      log::Error("SM partition '{}' of server {} is not made: {}", partition.name, server.name(), made.error().text);
  }
}

Status ControlDaemon::MakePlaceFor(const NamedServer& server) {
  TUTTI_TRY(MakeDirectory(options_.places.log_directory + "/" + server.plan.name));
  return sockets_.Open({.server = server.plan.name});
}

void ControlDaemon::RemoveServer(const std::string& name) {
  sockets_.CloseServer(name);
  catalog_.Delete(name);
  for (size_t i = partitions_.all().size(); i-- > 0;) {
    if (partitions_.all()[i].server == name) partitions_.Remove(partitions_.all()[i]);
  }
  broker_.ServerFailed(name, "server " + name + " has been deleted");
}

bool ControlDaemon::Quiet() const { return servers_.Quiet() && !connections_.busy(); }

Leaving ControlDaemon::Leave() {
  // exec would close, in this thread, what the next program does not take over.
  connections_.CloseShells();
  os::AwaitClosed();
  Leaving leaving{.sockets = {instance_.listener(), instance_.privileged_listener()},
                  .lock_fd = instance_.lock(),
                  .of_manager = instance_.of_manager(),
                  .commands = Settings()};
  for (const int listener : sockets_.Listeners()) leaving.sockets.push_back(listener);
  for (ServerHandle* server : servers_.All()) {
    // The next program will start a new one.
    if (server->state() == ServerState::kInitializing && !server->adopted()) server->Kill();
    if (!server->stopping()) server->Shutdown(false);
    leaving.servers.push_back(server->Leave());
  }
  KeepState();  // should the next program not start
  for (const int socket : connections_.sockets()) leaving.connections.push_back({.fd = socket});
  broker_.waiting().ForEach([&leaving](const WaitingClient& client) {
    ByteWriter hello;
    wire::Put(hello, client.hello);
    leaving.connections.push_back(
        {.fd = client.connection.get(), .hello = {hello.bytes().begin(), hello.bytes().end()}});
  });
  return leaving;
}

std::vector<std::string> ControlDaemon::Settings() {
  std::vector<std::string> settings = SettingsCommands(options_.protocol, defaults_, accounting_, catalog_.All());
  for (const auto& [name, claim] : claims_.all()) settings.push_back(claim.Words());
  if (claims_.required()) settings.emplace_back("claim require on");
  for (std::string& command : PartitionCommands(partitions_)) settings.push_back(std::move(command));
  return settings;
}

void ControlDaemon::Restore(const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const auto words = control::SplitWords(setting);
    if (RestorePartition(words, partitions_) || claim_registry_.Restore(words)) continue;
    RunCommand({context_, Ourselves(), words, Reply([](const CommandAnswer&) {})});
  }
}

DaemonState ControlDaemon::State() {
  return {.protocol = options_.protocol,
          .multi_user = options_.multi_user,
          .static_partitioning = options_.static_partitioning,
          .commands = Settings(),
          .servers = servers_.Records()};
}

// What a command has changed is kept before it is answered.
void ControlDaemon::RunFor(const Visitor& caller, const Route& route, std::vector<std::string> words, Reply reply) {
  RunCommand({context_, caller, std::move(words), Reply([this, reply = std::move(reply)](CommandAnswer answer) {
                KeepState();
                reply.Finish(std::move(answer));
              }),
              route});
}

void ControlDaemon::KeepState() {
  constexpr uint64_t kTryAgainNs = 5'000'000'000;
  if (!keeps_state_ || state_file_.Keep(State()) || keeps_again_) return;
  keeps_again_ = true;
  loop_->After(kTryAgainNs, [this] {
    keeps_again_ = false;
    KeepState();
  });
}

bool ControlDaemon::AdoptAfterDeath() {
  auto found = state_file_.Read();
  if (!found) {
    log::Error("The previous daemon was killed, and its servers end by themselves: {}", found.error().text);
    return false;
  }
  if (!*found) {
    state_file_.Remove();
    return false;
  }
  DaemonState& state = **found;
  const bool in_the_same_way = !options_.fresh && !options_.servers_die && state.SameWayAs(State());
  log::Warning("The previous daemon was killed: this one continues with {}its {} servers",
               in_the_same_way ? "its settings and " : "", state.servers.size());
  if (!in_the_same_way)
    log::Warning(
        "Its settings are lost, and its servers end with their last clients: it was started with other options");
  if (in_the_same_way) {
    servers_.PutOffStarts();  // most of them run already
    Restore(state.commands);
  }
  for (ServerRecord& server : state.servers) server.stopping = server.stopping || !in_the_same_way;
  to_adopt_ = std::move(state.servers);
  return in_the_same_way;
}

void ControlDaemon::TakeOver(Succession succession) {
  for (ServerLeft& server : succession.servers) servers_.Adopt(std::move(server));
  Restore(succession.commands);
  for (Succession::Connection& connection : succession.connections)
    GoOnWith(std::move(connection), succession.understands);
}

// A client that connected to the previous program. Its socket gives the route.
void ControlDaemon::GoOnWith(Succession::Connection connection, bool understands) {
  os::StrangersFd socket(std::move(connection.socket));
  const std::string path = BoundTo(socket.get());
  const bool by_ours = path == options_.places.control_socket() || path == options_.places.privileged_socket();
  const auto route = by_ours ? Route() : sockets_.RouteOf(path);
  auto visitor = route ? VisitorAt(socket.get(), route->claim) : Fail("it came by a socket that is gone");
  if (!visitor) return;
  // Not all is taken over yet, so its first message waits for the loop.
  if (connection.hello.empty()) return connections_.Admit(std::move(socket), std::move(*visitor), *route, true);
  ByteReader in(connection.hello);
  auto hello = understands ? wire::GetHello(in) : Fail("the control daemon has been upgraded: start the program again");
  if (!hello) return ipc::SendRefusal(socket.get(), 0, cuda::CUDA_ERROR_MPS_SERVER_NOT_READY, hello.error().text);
  broker_.Arrived({std::move(*visitor), std::move(*hello), std::move(socket), *route});
}

void ControlDaemon::Quit(std::optional<uint32_t> timeout_s, Shutdown::Done done) {
  manager_.Stopping();
  shutdown_.Begin(timeout_s, [this, done = std::move(done)](int exit_status) {
    exit_status_ = exit_status;
    done(exit_status);
    // One more iteration of the loop, so that pending answers are sent.
    loop_->After(0, [this] { loop_->Stop(); });
  });
  KeepState();
}

}  // namespace tutti::daemon
