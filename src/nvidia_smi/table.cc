// Scripts cut this table at its bars and columns, so the widths are NVIDIA's of the 550 branch and later.
#include "nvidia_smi/table.h"

#include <fmt/format.h>

#include <ctime>
#include <iterator>

namespace tutti::nvidia_smi {
namespace {

constexpr const char* kRule =
    "+-----------------------------------------------------------------------------------------+\n";
constexpr const char* kColumns =
    "+-----------------------------------------+------------------------+----------------------+\n";

std::string MiB(uint64_t bytes) { return fmt::format("{}MiB", bytes >> 20); }

std::string Memory(const Gpu& gpu) {
  if (!gpu.memory) return "N/A";
  return fmt::format("{:>7} / {:>8}", MiB(gpu.memory->used), MiB(gpu.memory->total));
}

std::string Shortened(const std::string& text, size_t most) {
  return text.size() <= most ? text : "..." + text.substr(text.size() - (most - 3));
}

// The start says more of a device's name than its end.
std::string NameOf(const Gpu& gpu) { return gpu.name.substr(0, 27); }

std::string Rows(const Gpu& gpu) {
  const std::string percent = gpu.gpu_percent ? fmt::format("{}%", *gpu.gpu_percent) : "N/A";
  const std::string mode = gpu.compute_mode ? ComputeModeName(*gpu.compute_mode) : "N/A";
  // "Exclusive_Process" is longer than its column; so is NVIDIA's.
  std::string text = fmt::format("| {:>3}  {:<27} {:>6} | {:>18} {:>3} | {:>20} |\n", gpu.index, NameOf(gpu),
                                 gpu.persistence ? (*gpu.persistence ? "On " : "Off") : "N/A", gpu.bus_id,
                                 gpu.display.value_or(false) ? "On" : "Off", "N/A");
  text += fmt::format("| {:<4} {:>4}  {:>4} {:>23} | {:>22} | {:>8} {:>11} |\n", "N/A", "N/A", "N/A", "N/A /  N/A",
                      Memory(gpu), percent, mode == "Exclusive_Process" ? "E. Process" : mode);
  text += fmt::format("| {:39} | {:22} | {:>20} |\n", "", "", "N/A");
  return text + kColumns;
}

std::string ProcessRows(const std::vector<Gpu>& gpus) {
  std::string text;
  for (const Gpu& gpu : gpus) {
    for (const GpuProcess& process : gpu.processes) {
      text += fmt::format("| {:>4}   N/A  N/A {:>15} {:>6}   {:<36} {:>9} |\n", gpu.index, process.pid, process.type(),
                          Shortened(process.name, 36), process.used_bytes ? MiB(*process.used_bytes) : "N/A");
    }
  }
  return !text.empty() ? text : fmt::format("| {:<87} |\n", " No running processes found");
}

}  // namespace

std::string Now() {
  const time_t now = time(nullptr);
  tm local{};
  char text[64] = "";
  if (localtime_r(&now, &local) != nullptr) std::strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &local);
  return text;
}

std::string Table(const System& system, const std::vector<Gpu>& gpus) {
  std::string text = Now() + "       \n" + kRule;
  text += fmt::format("| {:<33} {:<30} {:<22} |\n",
                      fmt::format("NVIDIA-SMI {} (Tutti {})", system.driver_version, TUTTI_VERSION),
                      "Driver Version: " + system.driver_version, "CUDA Version: " + system.cuda_version);
  text += kColumns;
  text +=
      "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
      "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
      "|                                         |                        |               MIG M. |\n"
      "|=========================================+========================+======================|\n";
  for (const Gpu& gpu : gpus) text += Rows(gpu);
  text += fmt::format("\n{}| {:<87} |\n", kRule, "Processes:");
  text +=
      "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |\n"
      "|        ID   ID                                                               Usage      |\n"
      "|=========================================================================================|\n";
  return text + ProcessRows(gpus) + kRule;
}

std::string List(const std::vector<Gpu>& gpus) {
  std::string text;
  for (const Gpu& gpu : gpus)
    fmt::format_to(std::back_inserter(text), "GPU {}: {} (UUID: {})\n", gpu.index, gpu.name, gpu.uuid);
  return text;
}

}  // namespace tutti::nvidia_smi
