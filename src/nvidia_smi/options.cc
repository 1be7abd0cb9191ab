// NVIDIA's tool takes its options in ways that the libraries for command lines do not: "-lms 500", "--id=0", "-i 0",
// "dmon -c 3". So they are read here, word by word.
#include "nvidia_smi/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include "nvidia_smi/fields.h"
#include "nvidia_smi/monitor.h"

namespace tutti::nvidia_smi {
namespace {

using What = Options::What;

constexpr unsigned kLongestMs = 86'400'000;

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::optional<unsigned> NumberIn(std::string_view text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > kLongestMs) return std::nullopt;
  return number;
}

std::optional<int> ModeIn(const std::string& text) {
  const std::string name = Upper(text);
  if (name == "0" || name == "DEFAULT") return 0;
  if (name == "1" || name == "EXCLUSIVE_THREAD") return 1;
  if (name == "2" || name == "PROHIBITED") return 2;
  if (name == "3" || name == "EXCLUSIVE_PROCESS") return 3;
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(const std::vector<std::string>& words) : words_(words) {}

  std::expected<Options, std::string> Read() {
    if (!words_.empty() && !words_[0].starts_with("-")) {
      if (words_[0] == "dmon") {
        options_.what = What::kDevices;
        options_.groups = kUsualDeviceGroups;
      } else if (words_[0] == "pmon") {
        options_.what = What::kProcesses;
        options_.groups = kUsualProcessGroups;
      } else if (words_[0] == "topo") {
        options_.what = What::kTopology;
      } else {
        return std::unexpected(Unknown(words_[0]));
      }
      next_ = 1;
    }
    while (next_ < words_.size()) {
      if (auto problem = One(words_[next_++])) return std::unexpected(*problem);
    }
    if (options_.what == What::kTopology && !matrix_)
      return std::unexpected("topo: only the matrix is supported here: give -m.\n");
    if ((options_.what == What::kQueryGpu || options_.what == What::kQueryProcesses) && options_.fields.empty())
      return std::unexpected("No fields to query: --help-query-gpu and --help-query-compute-apps list them.\n");
    return options_;
  }

 private:
  static std::string Unknown(const std::string& word) {
    return fmt::format("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help: \"{}\".\n", word);
  }

  // The value of "--name=value" or "-n=value", or the next word.
  std::optional<std::string> Value(const std::string& word) {
    if (const size_t equals = word.find('='); equals != word.npos) return word.substr(equals + 1);
    if (next_ >= words_.size()) return std::nullopt;
    return words_[next_++];
  }
  // The same for options whose value may be left out.
  std::optional<unsigned> NumberAfter(const std::string& word) {
    if (word.find('=') != word.npos) return NumberIn(word.substr(word.find('=') + 1));
    if (next_ < words_.size()) {
      if (const auto number = NumberIn(words_[next_])) {
        ++next_;
        return number;
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> Query(What what, const std::string& word) {
    const auto value = Value(word);
    if (!value) return Unknown(word);
    options_.what = what;
    options_.fields = Split(*value);
    return std::nullopt;
  }
  std::optional<std::string> Say(std::string text) {
    options_.what = What::kText;
    options_.text = std::move(text);
    next_ = words_.size();
    return std::nullopt;
  }
  bool monitor() const { return options_.what == What::kDevices || options_.what == What::kProcesses; }

  std::optional<std::string> SetLoop(const std::string& word, unsigned unit_ms) {
    const auto number = NumberAfter(word);
    if (!number && word.find('=') != word.npos) return fmt::format("\"{}\" is not a time.\n", word);
    const unsigned units = std::max(1u, number.value_or(5));
    if (units > kLongestMs / unit_ms) return fmt::format("{}: a day (86400 s) is the longest time.\n", word);
    options_.loop_ms = units * unit_ms;
    return std::nullopt;
  }

  // -c is the number of samples for monitors, else the compute mode.
  std::optional<std::string> Count(const std::string& word) {
    const auto value = Value(word);
    if (!value) return Unknown(word);
    if (monitor()) {
      options_.times = NumberIn(*value);
      return options_.times ? std::nullopt : std::optional(fmt::format("\"{}\" is not a number of samples.\n", *value));
    }
    const auto mode = ModeIn(*value);
    if (!mode)
      return fmt::format("Invalid compute mode \"{}\": give 0/DEFAULT, 2/PROHIBITED or 3/EXCLUSIVE_PROCESS.\n", *value);
    options_.what = What::kSetMode;
    options_.compute_mode = *mode;
    return std::nullopt;
  }

  // What is wrong with the word, or nothing if it is an option that is now read.
  std::optional<std::string> One(const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    if (name == "-h" || name == "--help") return Say(Help());
    if (name == "--version") return Say("");
    if (name == "--help-query-gpu") return Say(GpuFields());
    if (name == "--help-query-compute-apps") return Say(ProcessFields());
    if (name == "-m" && options_.what == What::kTopology) {
      matrix_ = true;
      return std::nullopt;
    }
    if (name == "--matrix" && options_.what == What::kTopology) {
      matrix_ = true;
      return std::nullopt;
    }
    if (name == "-i" || name == "--id") return List(word, &options_.ids);
    if (name == "-c" || name == "--compute-mode") return Count(word);
    if (monitor() && (name == "-d" || name == "--delay")) return SetLoop(word, 1000);
    if (monitor() && (name == "-s" || name == "--select")) return Groups(word);
    if (monitor() && (name == "-o" || name == "--options"))  // neither dates nor times
      return Value(word) ? std::nullopt : std::optional(Unknown(word));
    if (monitor()) return Unknown(word);
    if (name == "-L" || name == "--list-gpus") return Choose(What::kList);
    if (name == "-q" || name == "--query") return Choose(What::kDetails);
    if (name == "-d" || name == "--display") return Sections(word);
    if (name == "-f" || name == "--filename") {
      const auto value = Value(word);
      if (!value) return Unknown(word);
      options_.file = *value;
      return std::nullopt;
    }
    if (name == "--format") {
      options_.format = Value(word).value_or("");
      return std::nullopt;
    }
    if (name == "--query-gpu") return Query(What::kQueryGpu, word);
    if (name == "--query-compute-apps") return Query(What::kQueryProcesses, word);
    if (name == "-l" || name == "--loop") return SetLoop(word, 1000);
    if (name == "-lms" || name == "--loop-ms") return SetLoop(word, 1);
    return Unknown(word);
  }

  std::optional<std::string> Choose(What what) {
    options_.what = what;
    return std::nullopt;
  }
  std::optional<std::string> List(const std::string& word, std::vector<std::string>* list) {
    const auto value = Value(word);
    if (!value || Split(*value).empty()) return Unknown(word);
    *list = Split(*value);
    return std::nullopt;
  }
  std::optional<std::string> Groups(const std::string& word) {
    const std::string_view known = options_.what == What::kDevices ? kDeviceGroups : kProcessGroups;
    const auto value = Value(word);
    if (!value || value->empty() || value->find_first_not_of(known) != value->npos)
      return fmt::format("-s takes the letters of groups of columns: some of \"{}\".\n", known);
    options_.groups = *value;
    return std::nullopt;
  }
  std::optional<std::string> Sections(const std::string& word) {
    if (auto problem = List(word, &options_.sections)) return problem;
    for (std::string& section : options_.sections) {
      section = Upper(section);
      if (section != "MEMORY" && section != "UTILIZATION" && section != "COMPUTE" && section != "PIDS")
        return fmt::format("\"{}\" cannot be displayed here: give MEMORY, UTILIZATION, COMPUTE or PIDS.\n", section);
    }
    return std::nullopt;
  }

  const std::vector<std::string>& words_;
  size_t next_ = 0;
  bool matrix_ = false;
  Options options_;
};

}  // namespace

std::expected<Options, std::string> ReadOptions(const std::vector<std::string>& arguments) {
  return Reader(arguments).Read();
}

std::string Help() {
  return R"(nvidia-smi: the devices that this process may use, by Tutti's libnvidia-ml.so.1

  nvidia-smi                       the devices, and the processes on them
  nvidia-smi -L, --list-gpus       the devices, a line each
  nvidia-smi -q, --query           all there is to say of them
      -d, --display=SECTIONS       of it: MEMORY, UTILIZATION, COMPUTE, PIDS
  nvidia-smi --query-gpu=FIELDS --format=csv[,noheader][,nounits]
  nvidia-smi --query-compute-apps=FIELDS --format=csv[,noheader][,nounits]
  nvidia-smi -c, --compute-mode=MODE
                                   root: 0/DEFAULT, 2/PROHIBITED, 3/EXCLUSIVE_PROCESS
  nvidia-smi dmon [-c SAMPLES] [-d SECONDS] [-s pucvmet]   the devices' use, a line for each and each second
  nvidia-smi pmon [-c SAMPLES] [-d SECONDS] [-s um]        the processes' use
  nvidia-smi topo -m               how the devices are connected

  -i, --id=DEVICES                 only these: indices, UUIDs, PCI addresses
  -l, --loop=SECONDS               again and again; -lms, --loop-ms=MILLISECONDS
  -f, --filename=FILE              into the file
  --help-query-gpu, --help-query-compute-apps   the fields
  --version, -h, --help

Memory, percentages and processes are the asking process's own share; root of the machine sees all.
What no device here has (temperature, power, clocks, ...) is [N/A].
)";
}

}  // namespace tutti::nvidia_smi
