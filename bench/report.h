// What every benchmark prints and stores: rows of a case, its value, a reference measured in the same run, and the
// ratio.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct Row {
  std::string name;            // "case" in the JSON
  double value = 0;
  std::string unit;
  double reference = 0;        // in the same unit; 0: none
  std::string reference_name;
  double ratio = 0;            // value / reference, or reference / value where that is the figure of merit
  double spread = 0;           // interquartile range / median of the samples; 0: one sample
};

// Medians and spread of samples. `samples` is sorted in place.
struct Statistics {
  double median = 0, p99 = 0, spread = 0;
};
Statistics Summarize(std::vector<double>& samples);

class Report {
 public:
  // `name` is the benchmark's, `note` one line under the table: what the ratio means and its aim.
  Report(std::string name, std::string note) : name_(std::move(name)), note_(std::move(note)) {}
  void Add(Row row) { rows_.push_back(std::move(row)); }
  // Prints the table to stdout and writes `<directory>/<name>.json`. Returns the exit status of the program.
  int Finish(const std::string& directory) const;

 private:
  std::string name_, note_;
  std::vector<Row> rows_;
};

}  // namespace bench
