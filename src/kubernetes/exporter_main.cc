// tutti-exporter: /metrics of the control daemon in CUDA_MPS_PIPE_DIRECTORY, for hosts where no device plugin serves
// it.
#include <signal.h>

#include <cstdio>
#include <memory>

#include "base/log.h"
#include "command_line/command_line.h"
#include "control/daemon_connection.h"
#include "kubernetes/exporter.h"

namespace {

// A hung daemon counts as absent: the scrape has to end before Prometheus times out, by default after ten seconds.
constexpr int kPatience_ms = 5000;

std::optional<tutti::control::Report> AskDaemon() {
  auto daemon = tutti::control::DaemonConnection::Open(tutti::control::PlacesFromEnvironment(), kPatience_ms);
  if (!daemon) return std::nullopt;
  auto report = tutti::control::FetchReport(*daemon);
  return report ? std::optional(std::move(*report)) : std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tutti;
  command_line::Command line("tutti-exporter",
                             "Prometheus exporter of Tutti: the use of each device by clients and pods.");
  std::string address = "0.0.0.0:9400";
  kubernetes::PodSources sources;
  line.Version("tutti-exporter " TUTTI_VERSION);
  line.AddOption("--address", &address, "ADDRESS:PORT to serve at").Environment("METRICS_ADDRESS").ShowDefault();
  line.AddOption("--runtime-socket", &sources.runtime_socket, "The container runtime's socket, for names of pods");
  line.AddOption("--pod-resources-socket", &sources.pod_resources_socket,
                 "The kubelet's socket, for the devices that pods hold");
  if (const auto status = line.Parse(argc, argv)) return *status;
  // Blocked before threads exist, so that no other thread gets the signal.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  log::Open("", "Exporter");
  kubernetes::PodDirectory pods(std::move(sources));
  const auto exporter = std::make_shared<kubernetes::Exporter>(AskDaemon, pods, [] { return uint64_t{0}; });
  if (const Status status = exporter->Serve(address); !status) {
    std::fprintf(stderr, "tutti-exporter: %s\n", status.error().text.c_str());
    return 1;
  }
  log::Info("serving http://{}/metrics", address);
  int signal = 0;
  sigwait(&set, &signal);
  return 0;
}
