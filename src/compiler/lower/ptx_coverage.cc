// ptx_coverage HISTOGRAM.tsv: which part of the PTX in use can be lowered. The histogram (docs/reference) has a row per
// form of instruction: form, count in users' programs, files, count in the vendor's libraries. Prints the covered share
// of both counts and the uncovered forms by weight.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/lower/testing/synthesize.h"

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: ptx_coverage HISTOGRAM.tsv\n"), 2;
  std::ifstream file(arguments[1]);
  struct Row {
    std::string form, reason;
    double user = 0, library = 0;
  };
  std::vector<Row> missing;
  double user = 0, library = 0, user_missing = 0, library_missing = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    Row row;
    double files = 0;
    if (!(fields >> row.form >> row.user >> files >> row.library)) continue;
    user += row.user;
    library += row.library;
    row.reason = tutti::compiler::lowering::WhyNotLowered(row.form);
    if (row.reason.empty()) continue;
    user_missing += row.user;
    library_missing += row.library;
    missing.push_back(row);
  }
  std::printf("covered: %.3f%% of users' PTX, %.3f%% of libraries' PTX\n", 100 * (1 - user_missing / user),
              100 * (1 - library_missing / library));
  std::stable_sort(missing.begin(), missing.end(), [](const Row& a, const Row& b) { return a.user > b.user; });
  for (const Row& row : missing) {
    std::printf("%8.0f %8.0f  %s: %s\n", row.user, row.library, row.form.c_str(),
                row.reason.substr(0, row.reason.find('\n')).c_str());
  }
  return 0;
}
