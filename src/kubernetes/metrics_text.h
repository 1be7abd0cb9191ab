// What is measured, as Prometheus reads it: our own families with the truth about every client, and dcgm-exporter's
// names and labels with the truth about every pod, so that dashboards and collectors made for that find what they know.
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
  std::vector<std::optional<PodContainer>> owners;  // of the clients, in the order of the report
  std::vector<PodContainer> holders;  // of replicas
  std::string host;
  uint64_t daemon_starts = 0;  // 0: not ours to count
};

std::vector<prometheus::MetricFamily> OwnFamilies(const Measured& measured);
std::vector<prometheus::MetricFamily> DcgmFamilies(const Measured& measured);

}  // namespace tutti::kubernetes
