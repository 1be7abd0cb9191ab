// The command line of nvidia-smi.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace tutti::nvidia_smi {

struct Options {
  enum class What {
    kTable,
    kList,
    kDetails,
    kQueryGpu,
    kQueryProcesses,
    kSetMode,
    kDevices,
    kProcesses,
    kTopology,
    kText
  };
  What what = What::kTable;
  std::vector<std::string> ids;       // -i
  std::vector<std::string> sections;  // -d, in capitals; empty: all
  std::vector<std::string> fields;    // of a query
  std::string format;
  int compute_mode = 0;
  std::optional<unsigned> loop_ms;
  std::optional<unsigned> times;  // -c of dmon and pmon
  std::string groups;             // -s of these: columns, a letter for each group
  std::string file;               // -f
  std::string text;               // of kText: the whole answer
};

// On an error returns its message; the exit status is then kInvalidArgument.
std::expected<Options, std::string> ReadOptions(const std::vector<std::string>& arguments);

std::string Help();

}  // namespace tutti::nvidia_smi
