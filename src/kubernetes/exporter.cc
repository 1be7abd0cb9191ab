#include "kubernetes/exporter.h"

#include <fmt/format.h>
#include <prometheus/exposer.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>

namespace tutti::kubernetes {
namespace {

std::string HostName() {
  // In a pod gethostname is the pod's name; the manifest passes the node's.
  if (const char* node = std::getenv("NODE_NAME"); node != nullptr && *node != '\0') return node;
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

Exporter::Exporter(Ask ask, PodDirectory& pods, std::function<uint64_t()> daemon_starts)
    : ask_(std::move(ask)), pods_(pods), daemon_starts_(std::move(daemon_starts)), host_(HostName()) {}

Exporter::~Exporter() = default;

Status Exporter::Serve(const std::string& address) {
  // prometheus-cpp throws; no exception leaves this function.
  try {
    exposer_ = std::make_unique<prometheus::Exposer>(address, 2);
    exposer_->RegisterCollectable(shared_from_this());
    return {};
  } catch (const std::exception& error) {
    return Fail(fmt::format("cannot serve metrics at {}: {}; is the port taken?", address, error.what()));
  }
}

std::vector<prometheus::MetricFamily> Exporter::Collect() const {
  (void)pods_.Refresh();
  Measured measured{
      .report = ask_(), .owners = {}, .holders = pods_.Holders(), .host = host_, .daemon_starts = daemon_starts_()};
  if (measured.report) {
    for (const auto& server : measured.report->servers) {
      for (const auto& client : server.clients)
        measured.owners.push_back(client.pid == 0 ? std::nullopt : pods_.Find(static_cast<pid_t>(client.pid)));
    }
  }
  std::vector<prometheus::MetricFamily> families = OwnFamilies(measured);
  for (auto& family : DcgmFamilies(measured)) families.push_back(std::move(family));
  return families;
}

}  // namespace tutti::kubernetes
