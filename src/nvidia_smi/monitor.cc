// The columns are those of NVIDIA's default (-s pucm and -s um), so that scripts find them in their places; "-" stands
// for what nobody measures here.
#include "nvidia_smi/monitor.h"

#include <fmt/format.h>

#include "nvml/functions.h"

namespace tutti::nvidia_smi {
namespace {

std::string Percent(const std::optional<unsigned>& value) { return value ? fmt::format("{}", *value) : "-"; }

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

std::string DeviceHeader() {
  return "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk     fb\n"
         "# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz     MB\n";
}

std::string DeviceSample(const std::vector<Gpu>& gpus) {
  std::string text;
  for (const Gpu& gpu : gpus) {
    text += fmt::format("{:>5}", gpu.index);
    for (int i = 0; i < 3; ++i) text += fmt::format(" {:>6}", "-");
    text += fmt::format(" {:>6}", Percent(gpu.gpu_percent));
    for (int i = 0; i < 7; ++i) text += fmt::format(" {:>6}", "-");
    text += fmt::format(" {:>6}\n", gpu.memory ? fmt::format("{}", gpu.memory->used >> 20) : "-");
  }
  return text;
}

std::string ProcessHeader() {
  return "# gpu         pid   type     sm    mem    enc    dec    jpg    ofa     fb    command\n"
         "# Idx           #  C/G/M      %      %      %      %      %      %     MB    name\n";
}

std::string ProcessSample(const std::vector<Gpu>& gpus) {
  std::string text;
  for (const Gpu& gpu : gpus) {
    for (const GpuProcess& process : gpu.processes) {
      text +=
          fmt::format("{:>5} {:>11} {:>6} {:>6}", gpu.index, process.pid, process.type(), Percent(process.sm_percent));
      for (int i = 0; i < 5; ++i) text += fmt::format(" {:>6}", "-");
      const std::string command = process.name.substr(process.name.rfind('/') + 1);
      text += fmt::format(" {:>6}    {}\n", process.used_bytes ? fmt::format("{}", *process.used_bytes >> 20) : "-",
                          command.substr(0, 30));
    }
    if (gpu.processes.empty()) {
      text += fmt::format("{:>5} {:>11} {:>6}", gpu.index, "-", "-");
      for (int i = 0; i < 7; ++i) text += fmt::format(" {:>6}", "-");
      text += "    -\n";
    }
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
