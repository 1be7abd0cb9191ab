// toml++ parses the text; here it is checked and turned into a Configuration. A Fields reads a table and records which
// keys were requested; any key left at the end is unknown.
#include "control/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/nearest.h"
#include "control/configuration_text.h"
#include "control/object_values.h"

// Some malformed files violate the parser's own assertions; without those it reports them like any other error. (With
// NDEBUG it would turn them into assumptions for the compiler.)
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace tutti::control {
namespace {

constexpr std::string_view kDefaultNamespace = "default";

// One table of the file. Keeps its first error; after that, every query returns nothing.
class Fields {
 public:
  Fields(const toml::table& table, std::string where, const std::string& source)
      : table_(table), where_(std::move(where)), source_(source) {}

  const toml::node* Node(std::string_view key) {
    known_.emplace_back(key);
    return table_.get(key);
  }
  std::optional<std::string> Text(std::string_view key) { return Value<std::string>(key, "text in quotes"); }
  std::optional<bool> Boolean(std::string_view key) { return Value<bool>(key, "true or false"); }

  // A number from 0 to `most`.
  std::optional<uint32_t> Number(std::string_view key, uint32_t most) {
    const auto value = Value<int64_t>(key, "a whole number");
    if (!value) return std::nullopt;
    if (*value < 0 || *value > int64_t{most}) {
      Wrong(Node(key), fmt::format("{} is {}: a number from 0 to {} is needed", key, *value, most));
      return std::nullopt;
    }
    return static_cast<uint32_t>(*value);
  }

  // A percentage or priority may be a string, as in NVIDIA's files, or a number.
  std::optional<std::string> TextOrNumber(std::string_view key) {
    const toml::node* const node = Node(key);
    if (node == nullptr) return std::nullopt;
    if (const auto* integer = node->as_integer()) return std::to_string(integer->get());
    if (const auto* real = node->as_floating_point()) return fmt::format("{}", real->get());
    return Text(key);
  }

  // The table or array of tables `key` itself.
  template <typename Shape>
  const Shape* Get(std::string_view key, const char* wanted) {
    const toml::node* const node = Node(key);
    if (node == nullptr) return nullptr;
    const Shape* const shape = node->template as<Shape>();
    if (shape == nullptr) Wrong(node, fmt::format("{} must be {}", key, wanted));
    return shape;
  }

  void Take(std::string_view key, const Error& error) { Wrong(Node(key), fmt::format("{}: {}", key, error.text)); }
  void Missing(std::string_view key) { Wrong(&table_, fmt::format("{} needs a key \"{}\"", where_, key)); }
  void Adopt(const Status& status) {
    if (!status && !error_) error_ = status.error();
  }
  const std::string& source() const { return source_; }

  // The first error, or a key that was never requested.
  Status Finish() {
    for (const auto& [key, node] : table_) {
      if (error_) break;
      if (std::ranges::find(known_, std::string_view(key.str())) != known_.end()) continue;
      const std::string nearest = Nearest(key.str(), known_);
      error_ = Error{0, fmt::format("{}:{}: key \"{}\" is unknown in {}{}", source_, key.source().begin.line,
                                    std::string_view(key.str()), where_,
                                    nearest.empty() ? "" : ": did you mean \"" + nearest + "\"?")};
    }
    if (error_) return std::unexpected(*error_);
    return {};
  }

 private:
  template <typename T>
  std::optional<T> Value(std::string_view key, const char* wanted) {
    const toml::node* const node = Node(key);
    if (node == nullptr) return std::nullopt;
    const auto value = node->value_exact<T>();
    if (!value) Wrong(node, fmt::format("{} must be {}", key, wanted));
    return value;
  }

  void Wrong(const toml::node* node, const std::string& text) {
    if (!error_)
      error_ = Error{0, fmt::format("{}:{}: {}", source_, node != nullptr ? node->source().begin.line : 0u, text)};
  }

  const toml::table& table_;
  std::string where_;
  const std::string& source_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

ConfiguredLimits ReadLimits(Fields& fields) {
  ConfiguredLimits limits;
  if (const auto text = fields.TextOrNumber("pinned_memory_limit")) {
    auto memory = ParseMemoryLimits(*text);
    if (!memory) fields.Take("pinned_memory_limit", memory.error());
    if (memory) limits.memory_limits = *std::move(memory);
    limits.memory_text = *text;
  }
  if (const auto text = fields.TextOrNumber("active_thread_percentage")) {
    const auto percentage = ParsePercentage(*text);
    if (!percentage) fields.Take("active_thread_percentage", percentage.error());
    if (percentage) limits.active_thread_percentage = *percentage;
  }
  if (const auto text = fields.TextOrNumber("client_priority")) {
    const auto priority = ParsePriority(*text);
    if (!priority) fields.Take("client_priority", priority.error());
    if (priority) limits.client_priority = *priority;
  }
  if (const auto text = fields.TextOrNumber("memory_sharing")) {
    const auto sharing = ParseMemorySharing(*text);
    if (!sharing) fields.Take("memory_sharing", sharing.error());
    if (sharing) limits.memory_sharing = *sharing;
  }
  return limits;
}

Status ReadNamespaces(const toml::table& table, ConfiguredServer& server, const std::string& source) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string where = fmt::format("[servers.{}.namespaces.{}]", server.name, name);
    const auto at = [&](const std::string& text) {
      return Fail(fmt::format("{}:{}: {}", source, key.source().begin.line, text));
    };
    if (const auto good = CheckObjectName("namespace", name); !good) return at(good.error().text);
    if (!node.is_table()) return at(where + " must be a table");
    Fields fields(*node.as_table(), where, source);
    server.namespaces[name] = ReadLimits(fields);
    TUTTI_TRY(fields.Finish());
  }
  return {};
}

Status ReadPartition(const toml::table& table, const std::string& device, ConfiguredServer& server,
                     const std::string& source) {
  Fields fields(table, fmt::format("[[servers.{}.devices.sm_partitions]]", server.name), source);
  ConfiguredPartition partition{.device = device};
  const auto name = fields.Text("name");
  const auto chunks = fields.Number("chunks", 1u << 16);
  partition.include_remainder = fields.Boolean("include_remainder").value_or(false);
  if (!name) fields.Missing("name");
  if (!chunks) fields.Missing("chunks");
  if (name) {
    if (const auto good = CheckObjectName("SM partition", *name); !good) fields.Take("name", good.error());
    partition.name = *name;
  }
  if (chunks == 0u) fields.Take("chunks", Error{0, "at least 1 is needed"});
  partition.chunks = chunks.value_or(0);
  TUTTI_TRY(fields.Finish());
  server.partitions.push_back(std::move(partition));
  return {};
}

Status ReadDevice(const toml::table& table, ConfiguredServer& server, const std::string& source) {
  Fields fields(table, fmt::format("[[servers.{}.devices]]", server.name), source);
  const auto uuid = fields.Text("uuid");
  if (!uuid) fields.Missing("uuid");
  if (uuid && !IsDeviceIdentifier(*uuid))
    fields.Take("uuid", Error{0, fmt::format("\"{}\" is not the UUID of a device", *uuid)});
  if (const auto* partitions = fields.Get<toml::array>("sm_partitions", "an array of tables")) {
    for (const toml::node& partition : *partitions) {
      if (!partition.is_table()) fields.Take("sm_partitions", Error{0, "must be an array of tables"});
      if (partition.is_table()) fields.Adopt(ReadPartition(*partition.as_table(), uuid.value_or(""), server, source));
    }
  }
  return fields.Finish();
}

Status ReadServer(const toml::table& table, ConfiguredServer& server, const std::string& source) {
  Fields fields(table, fmt::format("[servers.{}]", server.name), source);
  server.namespaces[std::string(kDefaultNamespace)] = ReadLimits(fields);
  server.uid = fields.Number("uid", ~0u - 1);
  server.allowed_devices = fields.Text("allowed_devices").value_or("");
  if (fields.Boolean("locality_domains").value_or(false)) {
    fields.Take("locality_domains",
                Error{0, "no device here has locality domains: leave the key out, or set it to false"});
  }
  if (const auto* namespaces = fields.Get<toml::table>("namespaces", "a table of tables")) {
    fields.Adopt(ReadNamespaces(*namespaces, server, source));
  }
  if (const auto* devices = fields.Get<toml::array>("devices", "an array of tables: [[servers.NAME.devices]]")) {
    for (const toml::node& device : *devices) {
      if (!device.is_table()) fields.Take("devices", Error{0, "must be an array of tables"});
      if (device.is_table()) fields.Adopt(ReadDevice(*device.as_table(), server, source));
    }
  }
  return fields.Finish();
}

Status ReadServers(const toml::table& table, Configuration& configuration, const std::string& source) {
  for (const auto& [key, node] : table) {
    ConfiguredServer server{.name = std::string(key.str())};
    const auto at = [&](const std::string& text) {
      return Fail(fmt::format("{}:{}: {}", source, key.source().begin.line, text));
    };
    if (const auto good = CheckObjectName("server", server.name); !good) return at(good.error().text);
    if (!node.is_table()) return at(fmt::format("[servers.{}] must be a table", server.name));
    TUTTI_TRY(ReadServer(*node.as_table(), server, source));
    configuration.servers.push_back(std::move(server));
  }
  return {};
}

Status ReadFeatures(const toml::table& table, Configuration& configuration, const std::string& source) {
  Fields fields(table, "[features]", source);
  if (const auto* memacct = fields.Get<toml::table>("memacct", "a table")) {
    Fields inner(*memacct, "[features.memacct]", source);
    configuration.memacct = inner.Boolean("enabled");
    configuration.audit_log = inner.Boolean("audit_log");
    fields.Adopt(inner.Finish());
  }
  if (const auto* share = fields.Get<toml::table>("context-share", "a table")) {
    Fields inner(*share, "[features.context-share]", source);
    configuration.context_share = inner.Boolean("enabled");
    (void)inner.Text("default_socket");  // type-checked only: contexts are not shared here
    fields.Adopt(inner.Finish());
  }
  return fields.Finish();
}

}  // namespace

Result<Configuration> ParseConfiguration(std::string_view text, const std::string& source) {
  TUTTI_ASSIGN(const std::string plain, ConfigurationText(text, source));
  const toml::parse_result parsed = toml::parse(plain, source);
  if (!parsed) {
    return Fail(fmt::format("{}:{}: {}", source, parsed.error().source().begin.line, parsed.error().description()));
  }
  Configuration configuration;
  Fields fields(parsed.table(), "the file", source);
  const auto version = fields.Text("schema_version");
  if (version && *version != "1.0")
    fields.Take("schema_version", Error{0, fmt::format("\"{}\" is unknown: give \"1.0\"", *version)});
  if (const auto* servers = fields.Get<toml::table>("servers", "a table of tables"))
    fields.Adopt(ReadServers(*servers, configuration, source));
  if (const auto* features = fields.Get<toml::table>("features", "a table of tables"))
    fields.Adopt(ReadFeatures(*features, configuration, source));
  TUTTI_TRY(fields.Finish());
  return configuration;
}

Result<Configuration> ReadConfiguration(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return FailErrno("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  return ParseConfiguration(text.str(), path);
}

}  // namespace tutti::control
