// Helpers to fill Prometheus' metric families.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

namespace tutti::kubernetes {

using Labels = std::vector<std::pair<std::string, std::string>>;

class Family {
 public:
  // A counter's name ends in _total.
  Family(std::string name, std::string help) {
    family_.type = name.ends_with("_total") ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
    family_.name = std::move(name);
    family_.help = std::move(help);
  }
  void Add(const Labels& labels, double value) {
    prometheus::ClientMetric metric;
    for (const auto& [name, text] : labels) metric.label.push_back({name, text});
    (family_.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    family_.metric.push_back(std::move(metric));
  }
  prometheus::MetricFamily Take() && { return std::move(family_); }
  bool empty() const { return family_.metric.empty(); }

 private:
  prometheus::MetricFamily family_;
};

}  // namespace tutti::kubernetes
