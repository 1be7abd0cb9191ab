// The metrics in Prometheus' format: our own families, per client, and dcgm-exporter's names and labels, per pod, so
// that existing dashboards and collectors work.
#pragma once

#include <prometheus/metric_family.h>

#include <optional>
#include <string>
#include <vector>

#include "control/report.h"
#include "kubernetes/pod_directory.h"

namespace tutti::kubernetes {

struct Measured {
  std::optional<control::Report> report;  // nothing: no daemon answers
  std::vector<std::optional<PodContainer>> owners;  // owner of each client, in the report's order
  std::vector<PodContainer> holders;  // of replicas
  std::string host;
  uint64_t daemon_starts = 0;  // 0: unknown
};

std::vector<prometheus::MetricFamily> OwnFamilies(const Measured& measured);
std::vector<prometheus::MetricFamily> DcgmFamilies(const Measured& measured);

}  // namespace tutti::kubernetes
