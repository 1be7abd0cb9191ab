// The `flags` of the configuration of NVIDIA's device plugin. A command line and the environment may set the same
// flags; they win over the file (kubernetes/options.h).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "sharing/document.h"

namespace tutti::sharing {

enum class ListStrategy { kEnvVar, kVolumeMounts, kCdiAnnotations, kCdiCri };

struct Flags {
  std::string mig_strategy = "none";
  bool fail_on_init_error = true;
  std::string mps_root;
  bool gdrcopy_enabled = false;
  bool gds_enabled = false;
  bool mofed_enabled = false;
  bool pass_device_specs = false;
  std::set<ListStrategy> list_strategies = {ListStrategy::kEnvVar};
  std::string device_id_strategy = "uuid";
  std::string cdi_annotation_prefix = "cdi.k8s.io/";
  std::string allocation_policy = "distributed";
};

// The texts are NVIDIA's.
Result<std::set<ListStrategy>> ParseListStrategies(const std::vector<std::string>& names);
Status CheckFlags(const Flags& flags);

// Keys without meaning here (driver roots, GFD's output, ...) are type-checked and ignored.
Result<Flags> ReadFlags(const Value& value);

}  // namespace tutti::sharing
