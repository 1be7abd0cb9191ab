// Prints what the benchmarks have stored as Markdown: markdown [--tables] DIRECTORY NAME...
// A whole page, or with --tables what goes below a heading of another one.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace {

// The processor's name as the kernel gives it; it decides what the absolute numbers are worth.
std::string Processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  }
  return "unknown processor";
}

std::string OrDash(double number, const char* format) { return number == 0 ? "–" : fmt::format(fmt::runtime(format), number); }

void Print(const nlohmann::json& bench, const char* heading) {
  fmt::print("\n{} {}\n\n{}\n\n| case | value | beside it, in the same run | ratio | spread |\n|---|---|---|---|---|\n", heading, bench.at("bench").get<std::string>(), bench.value("note", ""));
  for (const auto& row : bench.at("rows")) {
    const double reference = row.value("reference", 0.0);
    const std::string unit = row.value("unit", "");
    const std::string beside = reference == 0 ? row.value("reference_name", "") : fmt::format("{:.4g} {} ({})", reference, unit, row.value("reference_name", ""));
    fmt::print("| {} | {:.4g} {} | {} | {} | {} |\n", row.at("case").get<std::string>(), row.at("value").get<double>(), unit, beside, OrDash(row.value("ratio", 0.0), "{:.2f}"), OrDash(row.value("spread", 0.0) * 100, "{:.0f}%"));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool tables = argc > 1 && std::string_view(argv[1]) == "--tables";
  const int first = tables ? 2 : 1;
  if (argc < first + 2) return fmt::print(stderr, "usage: markdown [--tables] DIRECTORY NAME...\n"), 2;
  if (!tables) fmt::print("# Measurements\n\nWritten by `./dev bench --page`. ");
  fmt::print("{} cores, {}. Absolute times mean little on a small virtual machine: each number stands beside\nwhat the same machine did without us, or with a competitor, in the same run. Spread is the interquartile range of the samples over their median.\n", sysconf(_SC_NPROCESSORS_ONLN), Processor());
  for (int i = first + 1; i < argc; ++i) {
    std::ifstream file(fmt::format("{}/{}.json", argv[first], argv[i]));
    const auto bench = nlohmann::json::parse(file, nullptr, false);
    if (bench.is_discarded()) return fmt::print(stderr, "markdown: {}/{}.json: not there, or not what a benchmark writes\n", argv[first], argv[i]), 1;
    Print(bench, tables ? "###" : "##");
  }
  return 0;
}
