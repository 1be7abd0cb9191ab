// Tables as answers: aligned columns for people, CSV and JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::control {

struct TextTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as `columns`; "-" stands for nothing
};

// Columns as wide as their longest entry, separated by two spaces, without trailing spaces.
std::string FormatText(const TextTable& table, bool header);
// Entries with a comma, a quote or a line break are quoted as in RFC 4180.
std::string FormatCsv(const TextTable& table, bool header);
// An array of objects, one line. Keys are the columns in lower case with '_'; "-" becomes null.
std::string FormatJson(const TextTable& table);

// The value of --format: "table", "csv" or "json", the first two with ",noheader" or without.
struct OutputFormat {
  enum class Kind { kTable, kCsv, kJson } kind = Kind::kTable;
  bool header = true;
};
Result<OutputFormat> ParseOutputFormat(const std::string& text);
std::string Format(const TextTable& table, const OutputFormat& format);

}  // namespace tutti::control
