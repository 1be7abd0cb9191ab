// Prints what the benchmarks have stored as Markdown:
//   markdown DIRECTORY NAME...            a whole page
//   markdown --summary DIRECTORY FILE     one table of the rows that FILE names (bench/summary.tsv)
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>

namespace {

// The processor's name as the kernel gives it, for which the absolute numbers hold.
std::string Processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  }
  return "unknown processor";
}

std::string OrDash(double number, const char* format) {
  return number == 0 ? "–" : fmt::format(fmt::runtime(format), number);
}

void Print(const nlohmann::json& bench) {
  fmt::print("\n## {}\n\n{}\n\n| case | value | beside it, in the same run | ratio | spread |\n|---|---|---|---|---|\n",
             bench.at("bench").get<std::string>(), bench.value("note", ""));
  for (const auto& row : bench.at("rows")) {
    const double reference = row.value("reference", 0.0);
    const std::string unit = row.value("unit", "");
    const std::string beside = reference == 0
                                   ? row.value("reference_name", "")
                                   : fmt::format("{:.4g} {} ({})", reference, unit, row.value("reference_name", ""));
    fmt::print("| {} | {:.4g} {} | {} | {} | {} |\n", row.at("case").get<std::string>(), row.at("value").get<double>(),
               unit, beside, OrDash(row.value("ratio", 0.0), "{:.2f}"),
               OrDash(row.value("spread", 0.0) * 100, "{:.0f}%"));
  }
}

nlohmann::json Load(const std::string& directory, const std::string& name) {
  std::ifstream file(fmt::format("{}/{}.json", directory, name));
  auto bench = nlohmann::json::parse(file, nullptr, false);
  if (bench.is_discarded()) {
    fmt::print(stderr, "markdown: {}/{}.json: not there, or not what a benchmark writes\n", directory, name);
    std::exit(1);
  }
  return bench;
}

std::string Number(double value, const std::string& unit) {
  return value < 1000 ? fmt::format("{:.3g} {}", value, unit) : fmt::format("{:.0f} {}", value, unit);
}

void Summarize(const std::string& directory, const char* rows) {
  fmt::print("\n| bench | case | ours | beside it, in the same run | ratio | aim |\n|---|---|---|---|---|---|\n");
  std::ifstream file(rows);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string name, pattern, aim;
    std::getline(fields, name, '\t');
    std::getline(fields, pattern, '\t');
    std::getline(fields, aim);
    const std::regex wanted(pattern);
    const nlohmann::json bench = Load(directory, name);
    for (const auto& row : bench.at("rows")) {
      const std::string label = row.at("case"), beside = row.value("reference_name", ""), unit = row.value("unit", "");
      if (!std::regex_search(label + " | " + beside, wanted)) continue;
      const double reference = row.value("reference", 0.0);
      fmt::print("| {} | {} | {} | {} | {} | {} |\n", name, label, Number(row.at("value"), unit),
                 reference == 0 ? "–" : fmt::format("{} ({})", Number(reference, unit), beside),
                 OrDash(row.value("ratio", 0.0), "{:.2f}"), aim);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 && argv[1][0] == '-' ? argv[1] : "";
  const int first = mode.empty() ? 1 : 2;
  if (argc < first + 2) return fmt::print(stderr, "usage: markdown [--summary] DIRECTORY NAME...\n"), 2;
  if (mode == "--summary") return Summarize(argv[first], argv[first + 1]), 0;
  fmt::print(
      "# Measurements\n\nWritten by `./dev bench --page`. {} cores, {}. Absolute times mean little on a small virtual "
      "machine: each number stands beside\nwhat the same machine did without us, or with a competitor, in the same "
      "run. Spread is the interquartile range of the samples over their median.\n",
      sysconf(_SC_NPROCESSORS_ONLN), Processor());
  for (int i = first + 1; i < argc; ++i) Print(Load(argv[first], argv[i]));
  return 0;
}
