// The configuration of a node: the file of NVIDIA's device plugin, unchanged, with our `tutti` section; or a Cast AI
// node template, recognised by its `gpu` object.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "sharing/castai_template.h"
#include "sharing/extension.h"
#include "sharing/flags.h"
#include "sharing/replication.h"

namespace tutti::sharing {

struct Config {
  Flags flags;
  Strategy strategy = Strategy::kNone;
  Replication replication;  // of the strategy; empty with kNone
  Extension extension;
  std::optional<NodeTemplate>
      node_template;  // if set, `replication` holds its default, from which single GPU names may differ
  std::vector<std::string> warnings;  // for the log, one line each
};

// `name` names the file in errors. A file with an error is not used at all.
Result<Config> ReadConfig(std::string_view text, const std::string& name);

// Checks that need the command line and the environment applied first.
Status CheckConfig(const Config& config);

}  // namespace tutti::sharing
