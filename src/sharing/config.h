// The configuration of a node: NVIDIA's device plugin's file as it is, with our `tutti` section; or a Cast AI node
// template, recognised by its `gpu` object.
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
  std::optional<NodeTemplate> node_template;  // then `replication` holds its default, and GPU names may differ from it
  std::vector<std::string> warnings;  // for the log, one line each
};

// `name` is what complaints call the file. Nothing of a file with an error is used.
Result<Config> ReadConfig(std::string_view text, const std::string& name);

// What can only be said when the command line and the environment have been applied, too.
Status CheckConfig(const Config& config);

}  // namespace tutti::sharing
