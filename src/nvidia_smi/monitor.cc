// The columns are NVIDIA's, in its groups and order, so that scripts find them in their places; "-" stands for what
// nobody measures here.
#include "nvidia_smi/monitor.h"

#include <fmt/format.h>

#include <optional>
#include <span>

#include "nvml/functions.h"

namespace tutti::nvidia_smi {
namespace {

enum class Figure { kNone, kPercent, kMemory };

struct Column {
  char group;  // of -s
  const char* name;
  const char* unit;
  Figure figure = Figure::kNone;
};

// clang-format off
constexpr Column kOfDevices[] = {
    {'p', "pwr", "W"},     {'p', "gtemp", "C"},  {'p', "mtemp", "C"},
    {'u', "sm", "%", Figure::kPercent}, {'u', "mem", "%"}, {'u', "enc", "%"},
    {'u', "dec", "%"},     {'u', "jpg", "%"},    {'u', "ofa", "%"},
    {'c', "mclk", "MHz"},  {'c', "pclk", "MHz"},
    {'v', "pviol", "%"},   {'v', "tviol", "bool"},
    {'m', "fb", "MB", Figure::kMemory}, {'m', "bar1", "MB"}, {'m', "ccpm", "MB"},
    {'e', "sbecc", "errs"}, {'e', "dbecc", "errs"}, {'e', "pci", "errs"},
    {'t', "rxpci", "MB/s"}, {'t', "txpci", "MB/s"},
};
constexpr Column kOfProcesses[] = {
    {'u', "sm", "%", Figure::kPercent}, {'u', "mem", "%"}, {'u', "enc", "%"},
    {'u', "dec", "%"},     {'u', "jpg", "%"},    {'u', "ofa", "%"},
    {'m', "fb", "MB", Figure::kMemory}, {'m', "ccpm", "MB"},
};
// clang-format on

struct Figures {
  std::optional<unsigned> percent;
  std::optional<uint64_t> bytes;
};

// A cell for each column of these groups.
template <typename Cell>
std::string Cells(std::span<const Column> columns, std::string_view groups, Cell cell) {
  std::string text;
  for (const Column& column : columns) {
    if (groups.contains(column.group)) text += fmt::format(" {:>6}", cell(column));
  }
  return text;
}
std::string Names(std::span<const Column> columns, std::string_view groups) {
  return Cells(columns, groups, [](const Column& column) { return column.name; });
}
std::string Units(std::span<const Column> columns, std::string_view groups) {
  return Cells(columns, groups, [](const Column& column) { return column.unit; });
}
std::string Values(std::span<const Column> columns, std::string_view groups, const Figures& figures) {
  return Cells(columns, groups, [&](const Column& column) {
    if (column.figure == Figure::kPercent && figures.percent) return fmt::format("{}", *figures.percent);
    if (column.figure == Figure::kMemory && figures.bytes) return fmt::format("{}", *figures.bytes >> 20);
    return std::string("-");
  });
}

std::optional<uint64_t> Used(const Gpu& gpu) {
  return gpu.memory ? std::optional<uint64_t>(gpu.memory->used) : std::nullopt;
}

// The words of NVIDIA's matrix for what NVML calls a level.
std::string Connection(nvmlDevice_t one, nvmlDevice_t other) {
  int level = 0;
  if (nvmlDeviceGetTopologyCommonAncestor(one, other, &level) != NVML_SUCCESS) return "N/A";
  switch (level) {
    case 0: return "X";
    case 10: return "PIX";
    case 20: return "PXB";
    case 30: return "PHB";
    case 40: return "NODE";
    default: return "SYS";
  }
}

}  // namespace

std::string DeviceHeader(std::string_view groups) {
  return "# gpu" + Names(kOfDevices, groups) + "\n# Idx" + Units(kOfDevices, groups) + "\n";
}

std::string DeviceSample(const std::vector<Gpu>& gpus, std::string_view groups) {
  std::string text;
  for (const Gpu& gpu : gpus) {
    const Figures figures{.percent = gpu.gpu_percent, .bytes = Used(gpu)};
    text += fmt::format("{:>5}{}\n", gpu.index, Values(kOfDevices, groups, figures));
  }
  return text;
}

std::string ProcessHeader(std::string_view groups) {
  return "# gpu         pid   type" + Names(kOfProcesses, groups) + "    command\n# Idx           #  C/G/M" +
         Units(kOfProcesses, groups) + "    name\n";
}

std::string ProcessSample(const std::vector<Gpu>& gpus, std::string_view groups) {
  std::string text;
  for (const Gpu& gpu : gpus) {
    for (const GpuProcess& process : gpu.processes) {
      const Figures figures{.percent = process.sm_percent, .bytes = process.used_bytes};
      const std::string command = process.name.substr(process.name.rfind('/') + 1);
      text += fmt::format("{:>5} {:>11} {:>6}{}    {}\n", gpu.index, process.pid, process.type(),
                          Values(kOfProcesses, groups, figures), command.substr(0, 30));
    }
    if (gpu.processes.empty())
      text += fmt::format("{:>5} {:>11} {:>6}{}    -\n", gpu.index, "-", "-", Values(kOfProcesses, groups, {}));
  }
  return text;
}

std::string TopologyMatrix(const std::vector<Gpu>& gpus) {
  std::string text = "\t";
  for (const Gpu& gpu : gpus) text += fmt::format("GPU{}\t", gpu.index);
  text += "CPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  for (const Gpu& row : gpus) {
    text += fmt::format("GPU{}\t", row.index);
    for (const Gpu& column : gpus) text += fmt::format(" {}\t", Connection(row.handle, column.handle));
    text += "N/A\tN/A\t\tN/A\n";
  }
  return text +
         "\nLegend:\n\n"
         "  X    = Self\n"
         "  NODE = the devices of one processor: copies between them are copies in its memory\n";
}

}  // namespace tutti::nvidia_smi
