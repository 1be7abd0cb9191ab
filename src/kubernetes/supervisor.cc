#include "kubernetes/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <vector>

#include "base/log.h"
#include "kubernetes/claim_book.h"
#include "kubernetes/daemon_keeper.h"
#include "kubernetes/exporter.h"
#include "kubernetes/kubelet.h"
#include "kubernetes/node_directories.h"
#include "kubernetes/node_marker.h"
#include "kubernetes/plugin.h"
#include "kubernetes/pod_directory.h"
#include "kubernetes/share_keeper.h"
#include "sharing/node_labels.h"
#include "sharing/offer.h"

namespace tutti::kubernetes {
namespace {

enum class Wish { kEnd, kReload, kRestart };

// A handler and a pipe, not a blocked signal and signalfd: the daemon would inherit the block.
int signal_pipe[2] = {-1, -1};

void NoteSignal(int number) {
  const int saved = errno;
  const auto byte = static_cast<uint8_t>(number);
  [[maybe_unused]] const ssize_t written = write(signal_pipe[1], &byte, 1);
  errno = saved;
}

class Supervisor {
 public:
  Supervisor(const Options& options, sharing::Config config) : options_(options), config_(std::move(config)) {}

  Status Run() {
    TUTTI_TRY(Prepare());
    TUTTI_TRY(MarkNode());
    claims_ = std::make_unique<ClaimBook>(places_, config_.flags.mps_root + "/claims",
                                          static_cast<int>(options_.daemon_timeout_s * 1000));
    keeper_ = std::make_unique<DaemonKeeper>(places_, ControlProgram(options_),
                                             static_cast<int>(options_.daemon_timeout_s * 1000), table_, *claims_);
    TUTTI_TRY(ServeMetrics());
    Apply();
    if (const auto wish = WaitForDevices(); !wish)
      return std::unexpected(wish.error());
    else if (*wish == Wish::kEnd)
      return {};
    for (;;) {
      const Wish wish = Serve();
      if (wish == Wish::kEnd) break;
      if (wish == Wish::kReload) Reload();
    }
    log::Info("ending; the control daemon stays for running pods, and for the next plugin");
    return {};
  }

 private:
  Status Prepare() {
    if (config_.flags.mps_root.empty()) config_.flags.mps_root = kDefaultRoot;
    TUTTI_ASSIGN(places_, PrepareDirectories(config_));
    TUTTI_ASSIGN(
        KubeletDirectory directory,
        KubeletDirectory::Watch(options_.kubelet_directory, static_cast<int>(options_.kubelet_timeout_s * 1000)));
    directory_ = std::make_unique<KubeletDirectory>(std::move(directory));
    return {};
  }

  Status ServeMetrics() {
    pods_ = std::make_unique<PodDirectory>(
        PodSources{options_.proc_directory, options_.runtime_socket, options_.pod_resources_socket});
    if (config_.extension.metrics_address.empty()) return {};
    exporter_ = std::make_shared<Exporter>([this] { return keeper_->LastReport(); }, *pods_,
                                           [this] { return keeper_->daemons(); });
    TUTTI_TRY(exporter_->Serve(config_.extension.metrics_address));
    log::Info("serving http://{}/metrics", config_.extension.metrics_address);
    return {};
  }

  // Applies the configuration to the daemon and to running clients.
  void Apply() {
    DaemonKeeper::Look look;
    if (sharing::SharesVary(config_)) {
      const auto shares = std::make_shared<ShareKeeper>(config_, *pods_);
      look = [shares](control::DaemonConnection& daemon, const control::Report& report) {
        shares->Apply(daemon, report);
      };
    }
    keeper_->AfterEachLook(std::move(look));
    keeper_->Configure(config_);
  }

  // Creates the marker if it is configured; fails if the node or the API server is unknown.
  Status MarkNode() {
    if (!config_.extension.node_api) {
      if (marker_) marker_->Want({});
      return {};
    }
    if (!marker_) {
      TUTTI_TRY(CheckNodeName(options_.node_name));
      TUTTI_ASSIGN(std::string url, ApiServerUrl(options_.api_server));
      marker_ = std::make_unique<NodeMarker>(ApiAccess{std::move(url), options_.account_directory}, options_.node_name);
    }
    const std::vector<sharing::DeviceFacts> devices = table_.Get().devices;
    if (!devices.empty()) marker_->Want({sharing::NodeLabels(config_, devices), sharing::NodeTaints(config_)});
    return {};
  }

  void WriteLabels() {
    if (const Status marked = MarkNode(); !marked) log::Warning("the node is not labelled: {}", marked.error().text);
    if (config_.extension.feature_file.empty()) return;
    const auto labels = sharing::NodeLabels(config_, table_.Get().devices);
    if (const Status written = sharing::WriteFeatureFile(config_.extension.feature_file, labels); !written)
      log::Warning("{}", written.error().text);
  }

  // What a signal requests, or kRestart when the devices are available. Fails if there are none and
  // --fail-on-init-error.
  Result<Wish> WaitForDevices() {
    for (int waited_ms = 0;; waited_ms += 50) {
      if (!table_.Get().devices.empty()) return Wish::kRestart;
      if (const auto wish = TakeSignal(50)) return *wish;
      if (config_.flags.fail_on_init_error && waited_ms > 30'000) return Fail("no devices: " + keeper_->Trouble());
    }
  }

  std::optional<Wish> TakeSignal(int timeout_ms) {
    pollfd wait{signal_pipe[0], POLLIN, 0};
    if (poll(&wait, 1, timeout_ms) <= 0) return std::nullopt;
    uint8_t number = 0;
    if (read(signal_pipe[0], &number, 1) != 1) return std::nullopt;
    return number == SIGHUP ? Wish::kReload : Wish::kEnd;
  }

  // A new configuration applies only if all of it is valid.
  void Reload() {
    auto fresh = LoadConfig(options_);
    if (fresh && fresh->flags.mps_root.empty()) fresh->flags.mps_root = kDefaultRoot;
    const auto offers = fresh ? sharing::MakeOffers(*fresh, table_.Get().devices) : std::unexpected(fresh.error());
    if (!offers) {
      log::Error("the new configuration is invalid, the old one stays: {}", offers.error().text);
      return;
    }
    if (fresh->flags.mps_root != config_.flags.mps_root)
      log::Warning("another mpsRoot takes effect when the plugin is restarted");
    config_ = std::move(*fresh);
    Apply();
    log::Info("the new configuration is in force");
  }

  Wish Serve() {
    for (const std::string& warning : std::exchange(config_.warnings, {})) log::Warning("{}", warning);
    WriteLabels();
    const std::vector<sharing::DeviceFacts> devices = table_.Get().devices;
    const auto offers = sharing::MakeOffers(config_, devices);
    std::vector<std::unique_ptr<Plugin>> plugins;
    Status started = offers ? StartAll(*offers, devices, plugins) : std::unexpected(offers.error());
    // The kubelet is not up yet, or not reachable: retries when it comes up, and with back-off.
    if (started)
      pause_ms_ = 500;
    else
      log::Warning("{}; trying again in {} s at the latest", started.error().text, (pause_ms_ + 999) / 1000);
    std::vector<std::string> endpoints;
    for (const auto& plugin : plugins) endpoints.push_back(plugin->endpoint());
    pollfd waits[] = {{signal_pipe[0], POLLIN, 0}, {directory_->fd(), POLLIN, 0}};
    for (;;) {
      const int ready = poll(waits, 2, started ? -1 : pause_ms_);
      if (ready == 0) {
        pause_ms_ = std::min(pause_ms_ * 2, 30'000);
        return Wish::kRestart;
      }
      if ((waits[1].revents & POLLIN) != 0 && directory_->TakeRestart(endpoints)) {
        log::Info("the kubelet's directory has changed: registering again");
        return Wish::kRestart;
      }
      if (const auto wish = TakeSignal(0)) return *wish;
    }
  }

  Status StartAll(const std::vector<sharing::Offer>& offers, const std::vector<sharing::DeviceFacts>& devices,
                  std::vector<std::unique_ptr<Plugin>>& plugins) {
    if (!directory_->KubeletIsThere()) return Fail(fmt::format("no kubelet at {} yet", directory_->kubelet_socket()));
    for (const sharing::Offer& offer : offers) {
      TUTTI_ASSIGN(std::unique_ptr<Plugin> plugin,
                   Plugin::Start(*directory_, {&config_, &offer, devices, {}}, table_, *claims_));
      plugins.push_back(std::move(plugin));
    }
    return {};
  }

  const Options& options_;
  sharing::Config config_;
  control::Places places_;
  DeviceTable table_;
  std::unique_ptr<KubeletDirectory> directory_;
  // Ordered by dependency: the keeper's thread uses the pods, the exporter's threads use both.
  std::unique_ptr<PodDirectory> pods_;
  std::unique_ptr<ClaimBook> claims_;
  std::unique_ptr<DaemonKeeper> keeper_;
  std::shared_ptr<Exporter> exporter_;
  std::unique_ptr<NodeMarker> marker_;  // only if labels are set through the API server
  int pause_ms_ = 500;
};

}  // namespace

Status Supervise(const Options& options) {
  TUTTI_ASSIGN(sharing::Config config, LoadConfig(options));
  if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return FailErrno("pipe");
  struct sigaction action = {};
  action.sa_handler = NoteSignal;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGHUP, SIGTERM, SIGINT, SIGQUIT}) sigaction(signal, &action, nullptr);
  return Supervisor(options, std::move(config)).Run();
}

}  // namespace tutti::kubernetes
