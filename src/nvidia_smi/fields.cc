#include "nvidia_smi/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <span>

namespace tutti::nvidia_smi {
namespace {

constexpr const char* kNone = "[N/A]";

struct Row {  // what a line is about
  const System* system = nullptr;
  const Gpu* gpu = nullptr;
  const GpuProcess* process = nullptr;
};

struct Field {
  std::string_view names;  // "name|gpu_name"; the first is the one in the header
  std::string_view unit;   // "MiB"; shown after each value
  std::string (*value)(const Row& row);  // null: no device here has it
};

template <typename T>
std::string ValueOr(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : kNone;
}
std::string SwitchText(const std::optional<bool>& value) { return value ? *value ? "Enabled" : "Disabled" : kNone; }
std::string MiB(const Row& row, unsigned long long nvmlMemory_v2_t::* part) {
  return row.gpu->memory ? fmt::format("{}", (*row.gpu->memory).*part >> 20) : kNone;
}

std::string ModeText(const Row& row) { return row.gpu->compute_mode ? ComputeModeName(*row.gpu->compute_mode) : kNone; }
std::string UsedText(const Row& row) {
  return row.process->used_bytes ? fmt::format("{}", *row.process->used_bytes >> 20) : kNone;
}

std::string Timestamp(const Row&) {
  const auto now = std::chrono::system_clock::now();
  const time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  tm local{};
  char text[64] = "";
  if (localtime_r(&seconds, &local) != nullptr) std::strftime(text, sizeof text, "%Y/%m/%d %H:%M:%S", &local);
  return fmt::format("{}.{:03}", text, ms);
}

// clang-format off
constexpr Field kGpuFields[] = {
    {"timestamp", "", Timestamp},
    {"driver_version", "", [](const Row& row) { return row.system->driver_version; }},
    {"count", "", [](const Row& row) { return fmt::format("{}", row.system->gpus); }},
    {"name|gpu_name", "", [](const Row& row) { return row.gpu->name; }},
    {"uuid|gpu_uuid", "", [](const Row& row) { return row.gpu->uuid; }},
    {"index", "", [](const Row& row) { return fmt::format("{}", row.gpu->index); }},
    {"pci.bus_id|gpu_bus_id", "", [](const Row& row) { return row.gpu->bus_id; }},
    {"pci.domain", "", [](const Row& row) { return fmt::format("0x{:04X}", row.gpu->pci_domain); }},
    {"pci.bus", "", [](const Row& row) { return fmt::format("0x{:02X}", row.gpu->pci_bus); }},
    {"pci.device", "", [](const Row& row) { return fmt::format("0x{:02X}", row.gpu->pci_device); }},
    {"persistence_mode", "", [](const Row& row) { return SwitchText(row.gpu->persistence); }},
    {"display_active", "", [](const Row& row) { return SwitchText(row.gpu->display); }},
    {"display_mode", "", [](const Row& row) { return SwitchText(row.gpu->display); }},
    {"compute_mode", "", ModeText},
    {"compute_cap", "", [](const Row& row) { return row.gpu->compute_capability; }},
    {"memory.total", "MiB", [](const Row& row) { return MiB(row, &nvmlMemory_v2_t::total); }},
    {"memory.reserved", "MiB", [](const Row& row) { return MiB(row, &nvmlMemory_v2_t::reserved); }},
    {"memory.used", "MiB", [](const Row& row) { return MiB(row, &nvmlMemory_v2_t::used); }},
    {"memory.free", "MiB", [](const Row& row) { return MiB(row, &nvmlMemory_v2_t::free); }},
    {"utilization.gpu", "%", [](const Row& row) { return ValueOr(row.gpu->gpu_percent); }},
    {"utilization.memory", "%", nullptr},
    {"utilization.encoder", "%", nullptr},
    {"utilization.decoder", "%", nullptr},
    {"serial|gpu_serial", "", nullptr},
    {"vbios_version", "", nullptr},
    {"pci.device_id", "", nullptr},
    {"pci.sub_device_id", "", nullptr},
    {"pcie.link.gen.current", "", nullptr},
    {"pcie.link.gen.max", "", nullptr},
    {"pcie.link.width.current", "", nullptr},
    {"pcie.link.width.max", "", nullptr},
    {"accounting.mode", "", nullptr},
    {"driver_model.current", "", nullptr},
    {"mig.mode.current", "", nullptr},
    {"mig.mode.pending", "", nullptr},
    {"fan.speed", "%", nullptr},
    {"pstate", "", nullptr},
    {"ecc.mode.current", "", nullptr},
    {"ecc.mode.pending", "", nullptr},
    {"ecc.errors.corrected.volatile.total", "", nullptr},
    {"ecc.errors.uncorrected.volatile.total", "", nullptr},
    {"ecc.errors.uncorrected.aggregate.total", "", nullptr},
    {"temperature.gpu", "", nullptr},
    {"temperature.memory", "", nullptr},
    {"power.management", "", nullptr},
    {"power.draw", "W", nullptr},
    {"power.draw.instant", "W", nullptr},
    {"power.limit", "W", nullptr},
    {"power.default_limit", "W", nullptr},
    {"power.min_limit", "W", nullptr},
    {"power.max_limit", "W", nullptr},
    {"enforced.power.limit", "W", nullptr},
    {"clocks.current.graphics|clocks.gr", "MHz", nullptr},
    {"clocks.current.sm|clocks.sm", "MHz", nullptr},
    {"clocks.current.memory|clocks.mem", "MHz", nullptr},
    {"clocks.current.video|clocks.video", "MHz", nullptr},
    {"clocks.max.graphics|clocks.max.gr", "MHz", nullptr},
    {"clocks.max.sm", "MHz", nullptr},
    {"clocks.max.memory|clocks.max.mem", "MHz", nullptr},
    {"clocks_throttle_reasons.active|clocks_event_reasons.active", "", nullptr},
};
constexpr Field kProcessFields[] = {
    {"timestamp", "", Timestamp},
    {"gpu_name", "", [](const Row& row) { return row.gpu->name; }},
    {"gpu_bus_id", "", [](const Row& row) { return row.gpu->bus_id; }},
    {"gpu_serial", "", nullptr},
    {"gpu_uuid", "", [](const Row& row) { return row.gpu->uuid; }},
    {"pid", "", [](const Row& row) { return fmt::format("{}", row.process->pid); }},
    {"process_name|name", "", [](const Row& row) { return row.process->name; }},
    {"used_gpu_memory|used_memory", "MiB", UsedText},
};
// clang-format on

bool HasName(const Field& field, std::string_view name) {
  std::string_view rest = field.names;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('|'), rest.size());
    if (rest.substr(0, end) == name) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::expected<std::vector<const Field*>, std::string> Named(std::span<const Field> fields,
                                                            const std::vector<std::string>& names) {
  std::vector<const Field*> found;
  for (const std::string& name : names) {
    const auto field = std::ranges::find_if(fields, [&](const Field& one) { return HasName(one, name); });
    if (field == fields.end())
      return std::unexpected(fmt::format("Field \"{}\" is not a valid field to query.\n", name));
    found.push_back(&*field);
  }
  return found;
}

std::string Header(const std::vector<const Field*>& fields, const std::vector<std::string>& names) {
  std::vector<std::string> titles;
  for (size_t i = 0; i < fields.size(); ++i)
    titles.push_back(fields[i]->unit.empty() ? names[i] : fmt::format("{} [{}]", names[i], fields[i]->unit));
  return fmt::format("{}\n", fmt::join(titles, ", "));
}

std::string Line(const std::vector<const Field*>& fields, const CsvFormat& format, const Row& row) {
  std::vector<std::string> values;
  for (const Field* const field : fields) {
    std::string value = field->value != nullptr ? field->value(row) : kNone;
    if (format.units && !field->unit.empty() && value != kNone) value += fmt::format(" {}", field->unit);
    values.push_back(std::move(value));
  }
  return fmt::format("{}\n", fmt::join(values, ", "));
}

std::string Names(std::span<const Field> fields) {
  std::string text;
  for (const Field& field : fields) {
    std::string names(field.names);
    for (size_t at = 0; (at = names.find('|', at)) != names.npos; at += 4) names.replace(at, 1, " or ");
    text += names + (field.value == nullptr ? "   [N/A]\n" : "\n");
  }
  return text;
}

}  // namespace

std::expected<CsvFormat, std::string> ReadFormat(const std::string& text) {
  CsvFormat format;
  bool csv = false;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word == "csv") {
      csv = true;
    } else if (word == "noheader") {
      format.header = false;
    } else if (word == "nounits") {
      format.units = false;
    } else {
      return std::unexpected(fmt::format("\"{}\" is not a valid format: give csv[,noheader][,nounits].\n", word));
    }
  }
  if (!csv) return std::unexpected("\"--format=\" is mandatory for a query: give csv[,noheader][,nounits].\n");
  return format;
}

std::expected<std::string, std::string> QueryGpus(const std::vector<std::string>& names, const CsvFormat& format,
                                                  const System& system, const std::vector<Gpu>& gpus) {
  const auto fields = Named(kGpuFields, names);
  if (!fields) return std::unexpected(fields.error());
  std::string text = format.header ? Header(*fields, names) : "";
  for (const Gpu& gpu : gpus) text += Line(*fields, format, {.system = &system, .gpu = &gpu});
  return text;
}

std::expected<std::string, std::string> QueryProcesses(const std::vector<std::string>& names, const CsvFormat& format,
                                                       const std::vector<Gpu>& gpus) {
  const auto fields = Named(kProcessFields, names);
  if (!fields) return std::unexpected(fields.error());
  std::string text = format.header ? Header(*fields, names) : "";
  for (const Gpu& gpu : gpus) {
    for (const GpuProcess& process : gpu.processes) text += Line(*fields, format, {.gpu = &gpu, .process = &process});
  }
  return text;
}

std::string GpuFields() { return Names(kGpuFields); }
std::string ProcessFields() { return Names(kProcessFields); }

}  // namespace tutti::nvidia_smi
