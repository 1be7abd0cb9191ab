// nvidia-smi: shows the devices and their processes, through our libnvidia-ml.so.1. Exit statuses are NVIDIA's.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "nvidia_smi/details.h"
#include "nvidia_smi/fields.h"
#include "nvidia_smi/monitor.h"
#include "nvidia_smi/options.h"
#include "nvidia_smi/table.h"
#include "nvml/functions.h"

namespace tutti::nvidia_smi {
namespace {

using What = Options::What;

constexpr int kInvalidArgument = 2;
constexpr unsigned kMonitorMs = 1000;
constexpr int kLinesPerHeader = 20;

int ExitStatus(nvmlReturn_t result) {
  switch (result) {
    case NVML_SUCCESS: return 0;
    case NVML_ERROR_INVALID_ARGUMENT: return kInvalidArgument;
    case NVML_ERROR_NOT_SUPPORTED: return 3;
    case NVML_ERROR_NO_PERMISSION: return 4;
    case NVML_ERROR_NOT_FOUND: return 6;
    case NVML_ERROR_DRIVER_NOT_LOADED: return 9;
    case NVML_ERROR_LIBRARY_NOT_FOUND: return 12;
    case NVML_ERROR_FUNCTION_NOT_FOUND: return 13;
    case NVML_ERROR_GPU_IS_LOST: return 15;
    default: return 255;
  }
}

int Failed(nvmlReturn_t result) {
  switch (result) {
    case NVML_ERROR_DRIVER_NOT_LOADED:
      std::fputs(
          "NVIDIA-SMI has failed: neither does the daemon of Tutti in CUDA_MPS_PIPE_DIRECTORY answer, nor can a "
          "server be started without one. `tutti doctor` says why.\n",
          stderr);
      break;
    case NVML_ERROR_NOT_FOUND: std::fputs("No devices were found\n", stderr); break;
    default: std::fputs(fmt::format("NVIDIA-SMI has failed: {}\n", nvmlErrorString(result)).c_str(), stderr);
  }
  return ExitStatus(result);
}

// The text of one sample, or the message of its error.
std::expected<std::string, std::string> Show(const Options& options, const System& system, const std::vector<Gpu>& gpus,
                                             unsigned shown) {
  const bool monitor_header = shown % kLinesPerHeader == 0;
  switch (options.what) {
    case What::kList: return List(gpus);
    case What::kDetails: return Details(system, gpus, options.sections);
    case What::kDevices:
      return (monitor_header ? DeviceHeader(options.groups) : "") + DeviceSample(gpus, options.groups);
    case What::kProcesses:
      return (monitor_header ? ProcessHeader(options.groups) : "") + ProcessSample(gpus, options.groups);
    case What::kTopology: return TopologyMatrix(gpus);
    case What::kQueryGpu:
    case What::kQueryProcesses: {
      auto format = ReadFormat(options.format);
      if (!format) return std::unexpected(format.error());
      format->header = format->header && shown == 0;
      return options.what == What::kQueryGpu ? QueryGpus(options.fields, *format, system, gpus)
                                             : QueryProcesses(options.fields, *format, gpus);
    }
    default: return Table(system, gpus);
  }
}

bool Write(const Options& options, const std::string& text, bool first) {
  if (options.file.empty()) return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  FILE* const file = std::fopen(options.file.c_str(), first ? "w" : "a");
  if (file == nullptr) return false;
  const bool written = std::fputs(text.c_str(), file) >= 0;
  return std::fclose(file) == 0 && written;
}

// The exit status of an answer: not 0 unless it has all been written.
int Say(const Options& options, const std::string& text, bool first) {
  if (Write(options, text, first)) return 0;
  std::fputs(
      fmt::format("cannot write {}: {}\n", options.file.empty() ? "the answer" : options.file, std::strerror(errno))
          .c_str(),
      stderr);
  return 255;
}

int SetMode(const Options& options, const std::vector<Gpu>& gpus) {
  std::string text;
  for (const Gpu& gpu : gpus) {
    const nvmlReturn_t result = nvmlDeviceSetComputeMode(gpu.handle, options.compute_mode);
    std::string name = ComputeModeName(options.compute_mode);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (result == NVML_ERROR_NO_PERMISSION) {
      std::fputs(fmt::format("Unable to set the compute mode for GPU {}: Insufficient Permissions\nTerminating early "
                             "due to previous error.\n",
                             gpu.bus_id)
                     .c_str(),
                 stderr);
      return ExitStatus(result);
    }
    if (result == NVML_ERROR_NOT_SUPPORTED) {
      std::fputs(
          fmt::format("Setting compute mode to EXCLUSIVE_THREAD is not supported for GPU {}.\n", gpu.bus_id).c_str(),
          stderr);
      return ExitStatus(result);
    }
    if (result != NVML_SUCCESS) return Failed(result);
    text += fmt::format("Set compute mode to {} for GPU {}.\n", name, gpu.bus_id);
  }
  return Say(options, text + "All done.\n", true);
}

int Look(const Options& options, unsigned shown) {
  const auto system = ReadSystem();
  if (!system) return Failed(system.error());
  const auto gpus = ReadGpus(options.ids);
  if (!gpus) return Failed(gpus.error());
  if (options.what == What::kSetMode) return SetMode(options, *gpus);
  const auto text = Show(options, *system, *gpus, shown);
  if (!text) {
    std::fputs(text.error().c_str(), stderr);
    return kInvalidArgument;
  }
  return Say(options, *text, shown == 0);
}

std::string Version() {
  char nvml[80] = "", driver[80] = "";
  int cuda = 0;
  nvmlSystemGetNVMLVersion(nvml, sizeof nvml);
  nvmlSystemGetDriverVersion(driver, sizeof driver);
  nvmlSystemGetCudaDriverVersion_v2(&cuda);
  return fmt::format(
      "NVIDIA-SMI version  : {} (Tutti {})\nNVML version        : {}\nDRIVER version      : {}\n"
      "CUDA Version        : {}.{}\n",
      driver, TUTTI_VERSION, nvml, driver, cuda / 1000, cuda % 1000 / 10);
}

int Run(const std::vector<std::string>& arguments) {
  const auto options = ReadOptions(arguments);
  if (!options) {
    std::fputs(options.error().c_str(), stderr);
    return kInvalidArgument;
  }
  if (options->what == What::kText && !options->text.empty()) return Say(*options, options->text, true);
  if (const nvmlReturn_t result = nvmlInit_v2(); result != NVML_SUCCESS) return Failed(result);
  if (options->what == What::kText) return Say(*options, Version(), true);
  const bool monitor = options->what == What::kDevices || options->what == What::kProcesses;
  const unsigned pause_ms = options->loop_ms.value_or(monitor ? kMonitorMs : 0);
  const unsigned times = options->times.value_or(pause_ms == 0 ? 1 : 0);  // 0: without an end
  for (unsigned shown = 0;; ++shown) {
    if (const int status = Look(*options, shown); status != 0) return status;
    if (times != 0 && shown + 1 >= times) return 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  }
}

}  // namespace
}  // namespace tutti::nvidia_smi

int main(int argc, char** argv) { return tutti::nvidia_smi::Run({argv + 1, argv + argc}); }
