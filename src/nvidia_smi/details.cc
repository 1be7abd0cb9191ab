#include "nvidia_smi/details.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "nvidia_smi/table.h"

namespace tutti::nvidia_smi {
namespace {

// Names are padded so that the colons stand in one column, as scripts cut them.
void Put(std::string& text, int depth, std::string_view name, std::string_view value) {
  fmt::format_to(std::back_inserter(text), "{:{}}{:<{}}: {}\n", "", depth * 4, name, 50 - depth * 4, value);
}
void Title(std::string& text, int depth, std::string_view name) {
  fmt::format_to(std::back_inserter(text), "{:{}}{}\n", "", depth * 4, name);
}

std::string Switch(const std::optional<bool>& value) { return value ? *value ? "Enabled" : "Disabled" : "N/A"; }
std::string MiB(uint64_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

void Identity(std::string& text, const Gpu& gpu) {
  Put(text, 1, "Product Name", gpu.name);
  Put(text, 1, "Display Active", Switch(gpu.display));
  Put(text, 1, "Persistence Mode", Switch(gpu.persistence));
  Title(text, 1, "MIG Mode");
  Put(text, 2, "Current", "N/A");
  Put(text, 2, "Pending", "N/A");
  Put(text, 1, "Accounting Mode", "N/A");
  Put(text, 1, "Serial Number", "N/A");
  Put(text, 1, "GPU UUID", gpu.uuid);
  Put(text, 1, "Minor Number", gpu.minor_number ? fmt::format("{}", *gpu.minor_number) : "N/A");
  Title(text, 1, "PCI");
  Put(text, 2, "Bus", fmt::format("0x{:02X}", gpu.pci_bus));
  Put(text, 2, "Device", fmt::format("0x{:02X}", gpu.pci_device));
  Put(text, 2, "Domain", fmt::format("0x{:04X}", gpu.pci_domain));
  Put(text, 2, "Bus Id", gpu.bus_id);
  Put(text, 1, "Fan Speed", "N/A");
  Put(text, 1, "Performance State", "N/A");
}

void Memory(std::string& text, const Gpu& gpu) {
  Title(text, 1, "FB Memory Usage");
  Put(text, 2, "Total", gpu.memory ? MiB(gpu.memory->total) : "N/A");
  Put(text, 2, "Reserved", gpu.memory ? MiB(gpu.memory->reserved) : "N/A");
  Put(text, 2, "Used", gpu.memory ? MiB(gpu.memory->used) : "N/A");
  Put(text, 2, "Free", gpu.memory ? MiB(gpu.memory->free) : "N/A");
}

void Utilization(std::string& text, const Gpu& gpu) {
  Title(text, 1, "Utilization");
  Put(text, 2, "GPU", gpu.gpu_percent ? fmt::format("{} %", *gpu.gpu_percent) : "N/A");
  Put(text, 2, "Memory", "N/A");
}

void Processes(std::string& text, const Gpu& gpu) {
  if (gpu.processes.empty()) return Put(text, 1, "Processes", "None");
  Title(text, 1, "Processes");
  for (const GpuProcess& process : gpu.processes) {
    Put(text, 2, "Process ID", fmt::format("{}", process.pid));
    Put(text, 3, "Type", process.type());
    Put(text, 3, "Name", process.name);
    Put(text, 3, "Used GPU Memory", process.used_bytes ? MiB(*process.used_bytes) : "N/A");
  }
}

}  // namespace

std::string Details(const System& system, const std::vector<Gpu>& gpus, const std::vector<std::string>& sections) {
  const auto wanted = [&](std::string_view section) {
    return sections.empty() || std::ranges::find(sections, section) != sections.end();
  };
  std::string text = "\n==============NVSMI LOG==============\n\n";
  Put(text, 0, "Timestamp", Now());
  Put(text, 0, "Driver Version", system.driver_version);
  Put(text, 0, "CUDA Version", system.cuda_version);
  text += "\n";
  Put(text, 0, "Attached GPUs", fmt::format("{}", system.gpus));
  for (const Gpu& gpu : gpus) {
    text += fmt::format("GPU {}\n", gpu.bus_id);
    if (sections.empty()) Identity(text, gpu);
    if (wanted("MEMORY")) Memory(text, gpu);
    if (wanted("COMPUTE")) Put(text, 1, "Compute Mode", gpu.compute_mode ? ComputeModeName(*gpu.compute_mode) : "N/A");
    if (wanted("UTILIZATION")) Utilization(text, gpu);
    if (wanted("PIDS")) Processes(text, gpu);
    text += "\n";
  }
  return text;
}

}  // namespace tutti::nvidia_smi
