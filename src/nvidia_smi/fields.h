// The fields of --query-gpu and --query-compute-apps.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "nvidia_smi/gpu.h"

namespace tutti::nvidia_smi {

struct CsvFormat {
  bool header = true;
  bool units = true;
};

// "csv", with ",noheader" and ",nounits" in any order. On an error returns its message.
std::expected<CsvFormat, std::string> ReadFormat(const std::string& text);

// One line per device or process, in the order of `names`. The error names the unknown field.
std::expected<std::string, std::string> QueryGpus(const std::vector<std::string>& names, const CsvFormat& format,
                                                  const System& system, const std::vector<Gpu>& gpus);
std::expected<std::string, std::string> QueryProcesses(const std::vector<std::string>& names, const CsvFormat& format,
                                                       const std::vector<Gpu>& gpus);

// "--query-gpu" fields, one per line, for --help-query-gpu; and of processes.
std::string GpuFields();
std::string ProcessFields();

}  // namespace tutti::nvidia_smi
