#include "daemon/servers/server_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/clock.h"
#include "base/log.h"
#include "control/words.h"
#include "daemon/access/visitor.h"
#include "daemon/servers/rendezvous.h"
#include "os/pidfd.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kFirstDelayNs = 100'000'000;
constexpr uint64_t kLongestDelayNs = 10'000'000'000;
constexpr uint64_t kLivedLongNs = 10'000'000'000;  // a server that ran this long was not a failed start
constexpr size_t kManyFailing = 256;               // names to keep count of
constexpr uint32_t kMostServers = 64;              // of a party

size_t MostServersOfAParty() {
  const char* const text = std::getenv("TUTTI_SERVERS_PER_CONTAINER");
  if (text == nullptr) return kMostServers;
  const auto number = control::ParseNumber(text);
  if (!number || *number == 0)
    log::Error("TUTTI_SERVERS_PER_CONTAINER=\"{}\" is not a number of servers: using {}", text, kMostServers);
  return number && *number > 0 ? *number : kMostServers;
}

}  // namespace

ServerTable::ServerTable(EventLoop& loop, control::Places places, const Defaults& defaults, LogBudget& log,
                         bool end_with_us)
    : loop_(loop),
      places_(std::move(places)),
      defaults_(defaults),
      log_(log),
      most_servers_(MostServersOfAParty()),
      end_with_us_(end_with_us),
      introductions_(loop) {}

uint64_t BackOffNs(uint32_t failures) {
  if (failures <= 1) return 0;
  if (failures > 8) return kLongestDelayNs;
  return std::min(kFirstDelayNs << (failures - 2), kLongestDelayNs);
}

ServerHandle* ServerTable::Current(const std::string& name) {
  for (const auto& [pid, server] : servers_) {
    if (server->name() == name && !server->stopping()) return server.get();
  }
  return nullptr;
}

bool ServerTable::Failing(const std::string& name) const {
  return std::ranges::any_of(servers_, [&name](const auto& entry) {
    return entry.second->name() == name && !entry.second->failure().empty();
  });
}

ServerHandle* ServerTable::Find(pid_t pid) {
  const auto found = servers_.find(pid);
  return found == servers_.end() ? nullptr : found->second.get();
}

bool ServerTable::IsToCome(const std::string& name) {
  const auto failing = back_off_.find(name);
  return Current(name) != nullptr || (failing != back_off_.end() && failing->second.start_pending);
}

std::vector<ServerHandle*> ServerTable::All() {
  std::vector<ServerHandle*> all;
  for (const auto& [pid, server] : servers_) all.push_back(server.get());
  return all;
}

size_t ServerTable::Untaken() const {
  size_t messages = 0;
  for (const auto& [pid, server] : servers_) messages += server->untaken();
  return messages;
}

Status ServerTable::MayStart(const std::string& party) const {
  const auto theirs =
      std::ranges::count_if(servers_, [&party](const auto& entry) { return entry.second->started_for() == party; });
  if (party == kAdministrators || static_cast<size_t>(theirs) < most_servers_) return {};
  return Fail(fmt::format(
      "{} servers run already that {} has made necessary: no more are started for it (TUTTI_SERVERS_PER_CONTAINER)",
      theirs, party));
}

Status ServerTable::Ensure(const ServerPlan& plan, const std::string& party) {
  if (closed_) return Fail("The control daemon is shutting down and starts no server");
  if (Current(plan.name) != nullptr || Failing(plan.name)) return {};
  TUTTI_TRY(MayStart(party));
  if (put_off_) {
    put_off_->emplace_back(plan, party);
    return {};
  }
  const uint64_t now = NowNs();
  const auto failing = back_off_.find(plan.name);
  if (failing == back_off_.end() || now >= failing->second.not_before_ns) return Launch(plan, party);
  BackOff& back_off = failing->second;
  if (back_off.start_pending) return {};
  back_off.start_pending = true;
  log_.Info(party, "The next server for user {} waits {} ms after {} failures", plan.uid,
            (back_off.not_before_ns - now) / 1'000'000, back_off.failures);
  loop_.After(back_off.not_before_ns - now, [this, plan, party] {
    back_off_[plan.name].start_pending = false;
    if (closed_ || Current(plan.name) != nullptr) return;
    if (const auto launched = Launch(plan, party); !launched) observer_.failed(plan.name, launched.error().text);
  });
  return {};
}

void ServerTable::StartNeeded() {
  const auto needed = std::exchange(put_off_, std::nullopt);
  if (!needed) return;
  for (const auto& [plan, party] : *needed) {
    if (const auto started = Ensure(plan, party); !started) log::Error("{}", started.error().text);
  }
}

Status ServerTable::Launch(const ServerPlan& plan, const std::string& party) {
  TUTTI_TRY(MayStart(party));
  TUTTI_ASSIGN(LaunchedServer launched, LaunchWithPlace(plan, party));
  log_.Info(party, "Starting new server {} for user {}", launched.pid, plan.uid);
  Add(std::make_unique<ServerHandle>(loop_, std::move(launched), plan, defaults_.server, party, log_));
  return {};
}

// With a place to wait for the next daemon, if there can be one.
Result<LaunchedServer> ServerTable::LaunchWithPlace(const ServerPlan& plan, const std::string& party) {
  if (end_with_us_) return LaunchServer(places_, plan, -1);
  std::set<std::string> taken;
  for (const auto& [pid, server] : servers_) taken.insert(server->rendezvous());
  const auto place = MakeRendezvous(places_, taken);
  if (!place) {
    log_.Warning(party, "The next server will die with this daemon: {}", place.error().text);
    return LaunchServer(places_, plan, -1);
  }
  auto launched = LaunchServer(places_, plan, place->socket.get());
  if (!launched) {
    RemoveRendezvous(places_, place->name);
    return launched;
  }
  launched->rendezvous = place->name;
  return launched;
}

void ServerTable::Adopt(const ServerRecord& record) {
  auto met =
      record.version == wire::kProtocolVersion ? ConnectToServer(places_, record) : Fail("it is of another version");
  if (met) {
    log::Info("Server {} of user {} has outlived its daemon and is adopted", record.pid, record.plan.uid);
  } else {
    const std::string why = std::move(met).error().text;
    met = FollowServer(record);
    log::Info("Server {} of user {} is not adopted: {}{}", record.pid, record.plan.uid, why,
              met ? "; it ends with its last client" : "");
    // Where it is hidden from us, another daemon may yet see it.
    if (!met && !os::OpenPidfd(record.pid)) RemoveRendezvous(places_, record.rendezvous);
    if (!met) return;
  }
  Add(std::make_unique<ServerHandle>(loop_, std::move(*met), record, log_));
  ServerHandle& server = *servers_[record.pid];
  server.SetLog(OpenServerLog(places_, server.plan()));  // it may have been rotated meanwhile
  if (record.stopping) server.Shutdown(record.forced);
}

std::vector<ServerRecord> ServerTable::Records() const {
  std::vector<ServerRecord> records;
  for (const auto& [pid, server] : servers_) {
    if (!server->rendezvous().empty()) records.push_back(server->Record());
  }
  return records;
}

void ServerTable::Adopt(ServerLeft left) {
  log::Info("Server {} of the previous program serves its clients until they end", left.launched.pid);
  const pid_t pid = left.launched.pid;
  const bool forced = left.forced;
  Add(std::make_unique<ServerHandle>(loop_, std::move(left), log_));
  servers_[pid]->Shutdown(forced);  // repeated: the previous program's request may have been lost
}

void ServerTable::Add(std::unique_ptr<ServerHandle> server) {
  ServerHandle* const handle = server.get();
  // One that was adopted, and whose number is free before its end has been heard of.
  if (const auto ended = servers_.find(handle->pid()); ended != servers_.end()) {
    ended->second->GiveUpRequests();
    introductions_.Forget(handle->pid());
    RemoveRendezvous(places_, ended->second->rendezvous());
  }
  servers_[handle->pid()] = std::move(server);
  handle->Start([this, handle] { Reported(*handle); }, [this, handle](int status) { Exited(*handle, status); });
  if (handle->state() == ServerState::kActive && handle->connected()) introductions_.Introduce(*handle, [] {});
  if (observer_.changed) observer_.changed();
}

void ServerTable::OpenLogsAnew() {
  for (const auto& [pid, server] : servers_) server->SetLog(OpenServerLog(places_, server->plan()));
}

std::vector<std::string> ServerTable::Logs() const {
  std::set<std::string> logs;
  for (const auto& [pid, server] : servers_) logs.insert(LogOf(places_, server->plan()));
  return {logs.begin(), logs.end()};
}

bool ServerTable::Quiet() const {
  return std::ranges::none_of(servers_, [](const auto& entry) {
    const ServerHandle& server = *entry.second;
    const bool starts = server.state() == ServerState::kInitializing && !(server.adopted() && server.stopping());
    return starts || !server.quiet();
  });
}

void ServerTable::Reported(ServerHandle& server) {
  if (!server.failure().empty()) {
    log_.Info(server.started_for(), "Server {} cannot serve: {}", server.pid(), server.failure());
    return;  // it is ending; its clients are notified once it has
  }
  if (server.state() == ServerState::kActive && server.connected())
    log_.Info(server.started_for(), "NEW SERVER {}: Ready", server.pid());
  if (!server.connected()) return Introduced(server);
  introductions_.Introduce(server, [this, &server] { Introduced(server); });
}

void ServerTable::Introduced(ServerHandle& server) {
  if (!server.stopping()) return observer_.ready(server);
  if (observer_.changed) observer_.changed();
  if (server.adopted()) Replace(server.plan(), server.started_for());
  if (!IsToCome(server.name())) observer_.failed(server.name(), "the server was shut down before it was ready");
}

// Clients that wait for a server that was to be adopted get another one.
void ServerTable::Replace(const ServerPlan& plan, const std::string& party) {
  if (closed_ || !observer_.awaited || !observer_.awaited(plan.name)) return;
  if (const auto started = Ensure(plan, party); !started) log_.Info(party, "{}", started.error().text);
}

void ServerTable::Exited(ServerHandle& server, int status) {
  const pid_t pid = server.pid();
  const ServerPlan plan = server.plan();
  const std::string party = server.started_for();
  const std::string& name = plan.name;
  const bool was_serving = server.state() == ServerState::kActive && !server.stopping();
  const bool failed = server.state() == ServerState::kInitializing || !server.failure().empty();
  const bool could_be_told = server.connected();  // else it can only have been killed
  const bool unheard = server.unheard();  // its time without daemon and clients was over
  std::string why = server.failure();
  if (why.empty()) {
    why = fmt::format("server {} exited with status {} before it was ready: see {}", pid, status, places_.server_log());
  }
  log_.Info(party, "Server {} exited with status {}", pid, status);
  if (status != 0 && !unheard) CountFailure(name, NowNs() - server.started_ns() < kLivedLongNs);
  if (status == 0) back_off_.erase(name);
  RemoveRendezvous(places_, server.rendezvous());
  introductions_.Forget(pid);
  servers_.erase(pid);
  if (observer_.changed) observer_.changed();
  if (status != 0 && was_serving && !closed_) {
    if (const auto restarted = Ensure(plan, party); !restarted) log_.Info(party, "{}", restarted.error().text);
  }
  if (unheard) Replace(plan, party);
  if (failed && !IsToCome(name)) observer_.failed(name, why);
  observer_.exited(pid, could_be_told ? status : 0);
}

// Drops the counts of servers without demand; their delay would have passed anyway.
void ServerTable::ForgetOldFailures() {
  const uint64_t now = NowNs();
  std::erase_if(back_off_, [now](const auto& entry) {
    return !entry.second.start_pending && now >= entry.second.not_before_ns + kLivedLongNs;
  });
}

void ServerTable::CountFailure(const std::string& name, bool quick) {
  if (back_off_.size() >= kManyFailing) ForgetOldFailures();
  BackOff& back_off = back_off_[name];
  back_off.failures = quick ? back_off.failures + 1 : 1;
  back_off.not_before_ns = NowNs() + BackOffNs(back_off.failures);
}

}  // namespace tutti::daemon
