#include "control/report.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace tutti::control {
namespace {

using Json = nlohmann::json;

const Json& Member(const Json& object, const char* name) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

std::string Text(const Json& object, const char* name) {
  const Json& value = Member(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

// 0 if it is missing or out of range.
template <typename T>
T Number(const Json& object, const char* name) {
  const Json& value = Member(object, name);
  if constexpr (std::is_floating_point_v<T>)
    return value.is_number() ? value.get<T>() : T{};
  else
    return value.is_number_unsigned() && value.get<uint64_t>() <= std::numeric_limits<T>::max() ? value.get<T>() : T{};
}

template <typename T, typename Function>
std::vector<T> List(const Json& object, const char* name, Function read) {
  std::vector<T> list;
  const Json& array = Member(object, name);
  if (!array.is_array()) return list;
  for (const Json& entry : array) list.push_back(read(entry));
  return list;
}

uint32_t ReadExtent(const Json& json) { return json.is_number_unsigned() ? json.get<uint32_t>() : 0; }

KernelReport ReadKernel(const Json& json) {
  return {.name = Text(json, "kernel"),
          .grid = List<uint32_t>(json, "grid", ReadExtent),
          .block = List<uint32_t>(json, "block", ReadExtent),
          .blocks = Number<uint64_t>(json, "blocks"),
          .begun = Number<uint64_t>(json, "begun"),
          .done = Number<uint64_t>(json, "done"),
          .seconds = Number<double>(json, "seconds")};
}

ClientReport ReadClient(const Json& json) {
  ClientReport client{.pid = Number<uint32_t>(json, "pid"),
                      .id = Number<uint32_t>(json, "id"),
                      .uid = Number<uint32_t>(json, "uid"),
                      .pid_namespace = Number<uint64_t>(json, "pid_namespace"),
                      .inner_pid = Number<uint32_t>(json, "inner_pid"),
                      .command = Text(json, "command"),
                      .device = Number<uint32_t>(json, "device"),
                      .device_uuid = Text(json, "device_uuid"),
                      .state = Text(json, "state"),
                      .percentage = Number<double>(json, "active_thread_percentage"),
                      .share = Number<double>(json, "share"),
                      .used_bytes = Number<uint64_t>(json, "used_bytes"),
                      .launches = Number<uint64_t>(json, "launches"),
                      .busy_ns = Number<uint64_t>(json, "busy_ns"),
                      .kernels = List<KernelReport>(json, "kernels", ReadKernel)};
  if (Member(json, "limit_bytes").is_number_unsigned()) client.limit_bytes = Number<uint64_t>(json, "limit_bytes");
  const Json& counters = Member(json, "counters");
  if (counters.is_object()) {
    for (const auto& [name, value] : counters.items()) {
      if (value.is_number_unsigned()) client.counters[name] = value.get<uint64_t>();
    }
  }
  return client;
}

std::string ReadName(const Json& json) { return json.is_string() ? json.get<std::string>() : ""; }

DeviceReport ReadDevice(const Json& json) {
  return {Number<uint32_t>(json, "ordinal"),
          Text(json, "uuid"),
          Text(json, "name"),
          Number<uint64_t>(json, "total_bytes"),
          Number<uint32_t>(json, "sm_count"),
          Text(json, "compute_capability"),
          Text(json, "pci"),
          List<std::string>(json, "capabilities", ReadName)};
}

ServerReport ReadServer(const Json& json) {
  return {Number<uint32_t>(json, "pid"),
          Number<uint32_t>(json, "uid"),
          Text(json, "state"),
          Text(json, "error"),
          List<DeviceReport>(json, "devices", ReadDevice),
          List<ClientReport>(json, "clients", ReadClient),
          Number<uint64_t>(json, "kernels_left_out")};
}

}  // namespace

Result<Report> ParseReport(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return Fail("the control daemon does not know `report`: is it of another version? It answered: " +
                text.substr(0, 80));
  const Json& daemon = Member(json, "daemon");
  const Json& multi_user = Member(daemon, "multi_user");
  return Report{.daemon_pid = Number<uint32_t>(daemon, "pid"),
                .daemon_uid = Number<uint32_t>(daemon, "uid"),
                .version = Number<uint32_t>(daemon, "version"),
                .pipe_directory = Text(daemon, "pipe_directory"),
                .log_directory = Text(daemon, "log_directory"),
                .policy = Text(daemon, "policy"),
                .default_percentage = Number<double>(daemon, "default_active_thread_percentage"),
                .multi_user = multi_user.is_boolean() ? std::optional(multi_user.get<bool>()) : std::nullopt,
                .servers = List<ServerReport>(json, "servers", ReadServer),
                .json = text};
}

Result<Report> FetchReport(DaemonConnection& daemon) {
  TUTTI_ASSIGN(const Answer answer, daemon.Run("report"));
  return ParseReport(answer.text);
}

}  // namespace tutti::control
