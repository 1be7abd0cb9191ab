#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace bench {

Statistics Summarize(std::vector<double>& samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double quantile) {
    return samples[static_cast<size_t>(quantile * static_cast<double>(samples.size() - 1))];
  };
  const double median = at(0.5);
  return {median, at(0.99), median > 0 ? (at(0.75) - at(0.25)) / median : 0};
}

int Report::Finish(const std::string& directory) const {
  size_t width = 4;
  for (const Row& row : rows_) width = std::max(width, row.name.size());
  fmt::print("\n== {}\n  {:<{}}  {:>12} {:<6} {:>12}  {:>8}  {:>7}  {}\n", name_, "case", width, "value", "unit",
             "beside it", "ratio", "spread", "what stands beside it");
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : rows_) {
    const std::string reference = row.reference != 0 ? fmt::format("{:.4g}", row.reference) : "-";
    const std::string ratio = row.ratio != 0 ? fmt::format("{:.2f}", row.ratio) : "-";
    const std::string spread = row.spread != 0 ? fmt::format("{:.0f}%", row.spread * 100) : "-";
    fmt::print("  {:<{}}  {:>12.4g} {:<6} {:>12}  {:>8}  {:>7}  {}\n", row.name, width, row.value, row.unit, reference,
               ratio, spread, row.reference_name);
    rows.push_back({{"case", row.name},
                    {"value", row.value},
                    {"unit", row.unit},
                    {"reference", row.reference},
                    {"reference_name", row.reference_name},
                    {"ratio", row.ratio},
                    {"spread", row.spread}});
  }
  fmt::print("  {}\n", note_);
  std::fflush(stdout);
  std::filesystem::create_directories(directory);
  std::ofstream file(directory + "/" + name_ + ".json");
  file << nlohmann::json{{"bench", name_}, {"note", note_}, {"rows", rows}}.dump(2) << "\n";
  return file ? 0 : 1;
}

}  // namespace bench
