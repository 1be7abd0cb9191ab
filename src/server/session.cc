#include "server/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "cuda/device_attribute.h"
#include "cuda/result.h"
#include "os/pidfd.h"
#include "os/socket.h"
#include "server/compute_modes.h"
#include "server/running_kernels.h"

namespace tutti::server {
namespace {

constexpr int kBatch = 256;  // records taken before the next session is served
constexpr uint64_t kSampleNs = 250'000'000;

std::unexpected<Error> OutOfResources(const Error& error) {
  return Fail(cuda::CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, error.text);
}

std::string Label(const ClientInfo& info) {
  const auto name = info.command_line.substr(0, info.command_line.find(' '));
  return fmt::format("{} {}", info.pid, name.substr(name.rfind('/') + 1));
}

uint64_t OwnLimit(const ClientInfo& info, uint32_t device) {
  const auto limit = std::ranges::find(info.own_limits, device, &wire::MemoryLimit::device);
  return limit == info.own_limits.end() ? ~0ull : limit->bytes;
}

}  // namespace

Result<std::shared_ptr<Session>> Session::Create(const SessionServices& services, ClientInfo info,
                                                 device::Limits limits, std::shared_ptr<os::StrangersFd> socket) {
  std::shared_ptr<Session> session(new Session(services, std::move(info), std::move(limits), std::move(socket)));

  auto channel = os::CreateMemory("tutti-channel", sizeof(wire::Channel));
  if (!channel) return OutOfResources(channel.error());
  auto mapping = os::Mapping::Shared(channel->get(), sizeof(wire::Channel));
  if (!mapping) return OutOfResources(mapping.error());
  session->doorbell_ = os::Fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!session->doorbell_) return OutOfResources(FailErrno("eventfd").error());
  // For a client in another PID namespace only the socket shows its end.
  if (auto pidfd = os::OpenPeerPidfd(session->socket_->get())) session->pidfd_ = std::move(*pidfd);
  session->channel_fd_ = std::move(*channel);
  session->channel_mapping_ = std::move(*mapping);
  session->channel_ = reinterpret_cast<wire::Channel*>(session->channel_mapping_.data());
  session->FillChannel();

  auto completions =
      os::CreateReadableMemory("tutti-completions", sizeof(wire::Completions), &session->completions_mapping_);
  if (!completions) return OutOfResources(completions.error());
  session->completions_fd_ = std::move(*completions);
  session->sink_ = std::make_unique<ChannelSink>(
      session->channel_, reinterpret_cast<wire::Completions*>(session->completions_mapping_.data()),
      session->SinkHooks());
  session->consumer_ = std::make_unique<ipc::RingConsumer>(session->channel_);
  session->PublishLimits();
  auto space = services.backend->CreateSpace(session->limits_, session->sink_.get(), Label(session->info_));
  if (!space) return space.error().code != 0 ? std::unexpected(space.error()) : OutOfResources(space.error());
  session->space_ = std::move(*space);
  session->channel_->header.window = session->space_->window();
  session->channel_->header.window_base = session->space_->window_base();
  return session;
}

ChannelSink::Hooks Session::SinkHooks() {
  return {
      .faulted =
          [this](uint32_t device, const device::Fault& fault) {
            services_.log->Warning(info_.payer(), "Client {{{}, {}}} has a sticky error {} on device {}: {}", info_.pid,
                                   info_.id, fault.status, device, fault.report);
            services_.faults->Add(info_, device, fault);
          },
      .memory_changed =
          [this](uint32_t device) {
            services_.memory_changed(device);
            return services_.backend->memory(device).device_bytes();
          },
      .let_go = [this](std::function<void()> close) { services_.takers->Add(info_.party, std::move(close)); },
  };
}

Session::Session(const SessionServices& services, ClientInfo info, device::Limits limits,
                 std::shared_ptr<os::StrangersFd> socket)
    : services_(services), info_(std::move(info)), limits_(std::move(limits)), socket_(std::move(socket)) {
  os::AllowDescriptors(socket_->get());  // images of modules are memory files; the daemon took none
  // A client that does not read must not block us.
  fcntl(socket_->get(), F_SETFL, fcntl(socket_->get(), F_GETFL) | O_NONBLOCK);
}

Session::~Session() {
  if (watched_) services_.watch->Remove(watch_number_);
  space_.reset();
  services_.memory_changed(0);  // to the others' good
  if (gone_) gone_();
}

void Session::FillChannel() {
  wire::ChannelHeader& header = channel_->header;
  const auto devices = services_.backend->devices();
  header.magic = wire::kChannelMagic;
  header.protocol_version = wire::kProtocolVersion;
  header.device_count = static_cast<uint32_t>(devices.size());
  header.client_id = info_.id;
  header.server_pid = static_cast<uint32_t>(getpid());
  header.shared_server = services_.shared_server ? 1 : 0;
  for (uint32_t device = 0; device < devices.size(); ++device) {
    if (IsWithheld(device)) continue;  // of which it learns nothing
    header.devices[device] = devices[device];
    header.states[device].used_bytes.store(services_.backend->memory(device).device_bytes(), std::memory_order_relaxed);
  }
  FillComputeModes(header);
}

void Session::PublishLimits() {
  const auto devices = services_.backend->devices();
  for (uint32_t device = 0; device < devices.size(); ++device) {
    const auto sms = static_cast<uint32_t>(devices[device].attributes[cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT]);
    const uint64_t bytes = device < limits_.memory_bytes.size() ? limits_.memory_bytes[device] : ~0ull;
    sink_->SetLimit(device, bytes, static_cast<int32_t>(device::GrantedSms(limits_, device, sms)));
  }
}

Status Session::Begin() {
  TUTTI_TRY(services_.watch->Add(this));
  watched_ = true;
  const int fds[wire::kWelcomeFds] = {channel_fd_.get(), space_->window_fd(), doorbell_.get(), completions_fd_.get()};
  TUTTI_TRY(ipc::SendMessage(socket_->get(), wire::MessageKind::kWelcome, 0, ByteWriter(), fds));
  channel_fd_.Reset();
  completions_fd_.Reset();
  return {};
}

void Session::End(int32_t status) {
  over_.store(true, std::memory_order_release);
  if (watched_) services_.watch->Remove(watch_number_);
  watched_ = false;
  if (status != 0) sink_->End(status);
  socket_->ShutDown();
}

void Session::Break(std::string reason) {
  if (over_.exchange(true, std::memory_order_acq_rel)) return;
  services_.broken(info_.id, std::move(reason));
}

// --- the ring

bool Session::Consume() {
  if (over() || paused()) return false;
  bool found = false;
  for (int i = 0; i < kBatch; ++i) {
    auto record = consumer_->Next();
    if (!record) {
      Break(record.error().text);
      return true;
    }
    if (!*record) break;
    found = true;
    if (auto handled = Handle(**record); !handled) {
      Break(handled.error().text);
      return true;
    }
    if (paused()) break;
  }
  consumer_->ReleaseSlots();
  return found;
}

bool Session::Peek() { return !over() && !paused() && consumer_->Peek(); }

void Session::SetBell(wire::Doorbell state) {
  channel_->header.doorbell.store(static_cast<uint32_t>(state), std::memory_order_seq_cst);
}

// --- for the main thread

void Session::SetLimits(const device::Limits& limits) {
  limits_ = limits;
  space_->SetLimits(limits_);
  PublishLimits();
}

double Session::ShareOf(uint32_t device, uint64_t now_ns) {
  Sample& sample = samples_[device];
  const uint64_t busy_ns = space_->counters(device).Get(metrics::Counter::device_ns);
  if (sample.taken_ns == 0) {
    sample = {.taken_ns = now_ns, .busy_ns = busy_ns};
  } else if (now_ns - sample.taken_ns >= kSampleNs) {
    const double sms =
        std::max(1, services_.backend->devices()[device].attributes[cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT]);
    const auto ran_ns = static_cast<double>(busy_ns - sample.busy_ns);
    const double share = std::min(1.0, ran_ns / (static_cast<double>(now_ns - sample.taken_ns) * sms));
    sample = {.taken_ns = now_ns, .busy_ns = busy_ns, .share = share};
  }
  return sample.share;
}

std::vector<std::string> Session::RunningLines() {
  std::vector<std::string> lines;
  ForEachRunning([&](uint32_t device, const auto& kernel) { lines.push_back(RunningLine(info_, device, kernel)); });
  return lines;
}

void Session::LogRunning() {
  ForEachRunning([this](uint32_t device, const auto& kernel) {
    services_.log->Info(info_.payer(), "Client {} on device {} had running: {}", info_.pid, device,
                        RunningText(kernel));
  });
}

void Session::ForEachRunning(const std::function<void(uint32_t, const device::Space::RunningKernel&)>& visit) {
  for (uint32_t device = 0; device < services_.backend->devices().size(); ++device) {
    if ((devices_used_.load(std::memory_order_relaxed) >> device & 1) == 0) continue;
    for (const auto& kernel : space_->Running(device)) visit(device, kernel);
  }
}

std::vector<wire::ClientStatus> Session::Describe() {
  const uint64_t now_ns = NowNs();
  std::vector<wire::ClientStatus> all;
  const uint32_t used = std::max(1u, devices_used_.load(std::memory_order_relaxed));
  for (uint32_t device = 0; device < services_.backend->devices().size(); ++device) {
    if ((used >> device & 1) == 0) continue;
    const metrics::ClientCounters& counters = space_->counters(device);
    const uint64_t limit = device < limits_.memory_bytes.size() ? limits_.memory_bytes[device] : ~0ull;
    all.push_back({.id = info_.id,
                   .pid = info_.pid,
                   .uid = info_.uid,
                   .pid_namespace = info_.pid_namespace,
                   .command_line = info_.command_line,
                   .device = device,
                   .state = sink_->error(device) != 0 ? wire::ClientState::kFault : wire::ClientState::kActive,
                   .percentage = limits_.active_thread_percentage,
                   .share = ShareOf(device, now_ns),
                   .used_bytes = sink_->memory_bytes(device),
                   .limit_bytes = limit,
                   .launches = counters.Get(metrics::Counter::launches),
                   .busy_ns = counters.Get(metrics::Counter::device_ns),
                   .priority = limits_.priority,
                   .name_space = info_.name_space,
                   .own_percentage = info_.own_percentage,
                   .own_limit_bytes = OwnLimit(info_, device),
                   .kernel_ns = limits_.kernel_ns,
                   .counters = counters.Values()});
    for (const auto& group : limits_.memory_groups) {
      if (group->device != device) continue;
      all.back().memory_groups.push_back(
          {.name = group->name, .device = device, .soft_bytes = group->soft_bytes, .hard_bytes = group->hard_bytes});
      all.back().memory_group_bytes.push_back(group->used_bytes);
    }
  }
  return all;
}

}  // namespace tutti::server
