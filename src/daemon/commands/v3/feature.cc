#include <fmt/format.h>

#include "daemon/commands/v3/objects.h"

namespace tutti::daemon::v3 {
namespace {

struct Feature {
  const char* name;
  const char* module;
  const char* covers;
  bool& enabled;
};

std::vector<Feature> Features(const Request& request) {
  return {{"memacct", "memacct", "memory limits by cgroup", request.context().accounting.enabled},
          {"context-share", "context-share", "contexts that processes share: none on this device",
           request.context().defaults.context_share}};
}

void Switch(const Request& request, bool on) {
  if (!RequirePrivilege(request)) return;
  for (const Feature& feature : Features(request)) {
    if (feature.name != request.positional(0)) continue;
    feature.enabled = on;
    return request.Done();
  }
  request.Refuse(fmt::format("feature \"{}\" is unknown: give memacct or context-share", request.positional(0)));
}

void Enable(const Request& request) { Switch(request, true); }
void Disable(const Request& request) { Switch(request, false); }

void Describe(const Request& request) {
  control::TextTable table{.columns = {"FEATURE", "STATE", "MODULE", "COVERS"}};
  for (const Feature& feature : Features(request)) {
    if (!request.positionals.empty() && request.positional(0) != feature.name) continue;
    table.rows.push_back(
        {feature.name, feature.enabled ? "enabled (default)" : "disabled", feature.module, feature.covers});
  }
  if (table.rows.empty())
    return request.Refuse(
        fmt::format("feature \"{}\" is unknown: give memacct or context-share", request.positional(0)));
  request.Print(table);
}

}  // namespace

const Module& FeatureModule() {
  static const Verb verbs[] = {
      {"enable", "<feature>", {}, "memacct or context-share", Enable},
      {"disable", "<feature>", {}, "memacct or context-share; of clients that connect later", Disable},
      {"describe", "[<feature>]", {{"format", "table|csv|json"}}, "what is switched on", Describe},
  };
  static const Module module{"feature", "switches", verbs};
  return module;
}

const Module& ContextShareModule() {
  static const Module module{
      "context-share", "has no commands: switch it with feature enable|disable context-share", {}};
  return module;
}

}  // namespace tutti::daemon::v3
