// Serves /metrics: queries the control daemon, the container runtime and the kubelet at each scrape.
#pragma once

#include <prometheus/collectable.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "kubernetes/metrics_text.h"
#include "kubernetes/pod_directory.h"

namespace prometheus {
class Exposer;
}

namespace tutti::kubernetes {

// Create with std::make_shared, since the HTTP server holds a weak pointer to it.
class Exporter : public prometheus::Collectable, public std::enable_shared_from_this<Exporter> {
 public:
  // Queries the daemon. May take long; called from the HTTP server's threads.
  using Ask = std::function<std::optional<control::Report>()>;

  // `pods` must outlive the exporter. `daemon_starts` returns 0 if unknown.
  Exporter(Ask ask, PodDirectory& pods, std::function<uint64_t()> daemon_starts);
  ~Exporter() override;

  // Serves at "ADDRESS:PORT"; fails if it cannot be bound.
  Status Serve(const std::string& address);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Ask ask_;
  PodDirectory& pods_;
  const std::function<uint64_t()> daemon_starts_;
  const std::string host_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace tutti::kubernetes
