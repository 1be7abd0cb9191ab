#include "control/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/printable.h"

namespace tutti::control {
namespace {

std::string Quoted(const std::string& entry) {
  if (entry.find_first_of(",\"\r\n") == std::string::npos) return entry;
  std::string quoted = "\"";
  for (const char c : entry) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

void AppendLine(std::string& text, const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) line += fmt::format("{:<{}}  ", Printable(cells[i]), widths[i]);
  text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

void AppendCsv(std::string& text, const std::vector<std::string>& cells) {
  for (size_t i = 0; i < cells.size(); ++i) text += (i == 0 ? "" : ",") + Quoted(cells[i]);
  text += "\n";
}

std::string Key(std::string column) {
  for (char& c : column)
    c = c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return column;
}

}  // namespace

std::string FormatText(const TextTable& table, bool header) {
  std::vector<size_t> widths(table.columns.size(), 0);
  const auto measure = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  };
  if (header) measure(table.columns);
  for (const auto& row : table.rows) measure(row);
  std::string text;
  if (header) AppendLine(text, table.columns, widths);
  for (const auto& row : table.rows) AppendLine(text, row, widths);
  return text;
}

std::string FormatCsv(const TextTable& table, bool header) {
  std::string text;
  if (header) AppendCsv(text, table.columns);
  for (const auto& row : table.rows) AppendCsv(text, row);
  return text;
}

std::string FormatJson(const TextTable& table) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (size_t i = 0; i < row.size(); ++i) {
      object[Key(table.columns[i])] = row[i] == "-" ? nlohmann::ordered_json() : nlohmann::ordered_json(row[i]);
    }
    list.push_back(std::move(object));
  }
  return list.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<OutputFormat> ParseOutputFormat(const std::string& text) {
  const size_t comma = std::min(text.find(','), text.size());
  const std::string kind = text.substr(0, comma);
  OutputFormat format;
  if (kind == "csv") format.kind = OutputFormat::Kind::kCsv;
  if (kind == "json") format.kind = OutputFormat::Kind::kJson;
  format.header = comma == text.size();
  const bool known = kind == "table" || kind == "csv" || kind == "json";
  if (!known || (!format.header && text.substr(comma) != ",noheader")) {
    return Fail(
        fmt::format("format \"{}\" is unknown: give table, csv or json, or table,noheader or csv,noheader", text));
  }
  return format;
}

std::string Format(const TextTable& table, const OutputFormat& format) {
  switch (format.kind) {
    case OutputFormat::Kind::kTable: return FormatText(table, format.header);
    case OutputFormat::Kind::kCsv: return FormatCsv(table, format.header);
    case OutputFormat::Kind::kJson: return FormatJson(table);
  }
  return {};
}

}  // namespace tutti::control
