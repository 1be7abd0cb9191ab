#include "frame/evidence.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tutti::gpu {
namespace {

bool Fits(const Row& row, std::string_view probe, std::string_view step) {
  if (row.probe != probe) return false;
  if (step.ends_with('*')) return row.step.starts_with(step.substr(0, step.size() - 1));
  return row.step == step;
}

}  // namespace

const Value* Row::Find(std::string_view name) const {
  for (const auto& [key, value] : values) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::optional<double> Row::Number(std::string_view name) const {
  const Value* const value = Find(name);
  if (value == nullptr || !std::holds_alternative<double>(*value)) return std::nullopt;
  return std::get<double>(*value);
}

std::optional<bool> Row::Truth(std::string_view name) const {
  const Value* const value = Find(name);
  if (value == nullptr || !std::holds_alternative<bool>(*value)) return std::nullopt;
  return std::get<bool>(*value);
}

std::string Row::Text(std::string_view name) const {
  const Value* const value = Find(name);
  return value != nullptr && std::holds_alternative<std::string>(*value) ? std::get<std::string>(*value) : "";
}

Evidence Evidence::Read(const std::string& path) {
  Evidence evidence;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::ordered_json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    Row row;
    for (const auto& [name, value] : json.items()) {
      if (value.is_boolean()) {
        row.values.emplace_back(name, value.get<bool>());
      } else if (value.is_number()) {
        row.values.emplace_back(name, value.get<double>());
      } else if (value.is_string()) {
        row.values.emplace_back(name, value.get<std::string>());
      }
    }
    row.section = row.Text("section");
    row.probe = row.Text("probe");
    row.step = row.Text("step");
    std::erase_if(row.values, [](const auto& pair) {
      return pair.first == "section" || pair.first == "probe" || pair.first == "step";
    });
    if (!row.probe.empty()) evidence.rows_.push_back(std::move(row));
  }
  return evidence;
}

std::vector<const Row*> Evidence::Of(std::string_view probe, std::string_view step) const {
  std::vector<const Row*> found;
  for (const Row& row : rows_) {
    if (Fits(row, probe, step)) found.push_back(&row);
  }
  return found;
}

std::optional<double> Evidence::Number(std::string_view probe, std::string_view step, std::string_view name) const {
  for (const Row* row : Of(probe, step)) {
    if (const auto number = row->Number(name)) return number;
  }
  return std::nullopt;
}

std::optional<bool> Evidence::Truth(std::string_view probe, std::string_view step, std::string_view name) const {
  for (const Row* row : Of(probe, step)) {
    if (const auto truth = row->Truth(name)) return truth;
  }
  return std::nullopt;
}

std::string Evidence::Text(std::string_view probe, std::string_view step, std::string_view name) const {
  for (const Row* row : Of(probe, step)) {
    if (std::string text = row->Text(name); !text.empty()) return text;
  }
  return "";
}

std::optional<double> Evidence::Most(std::string_view probe, std::string_view step, std::string_view name) const {
  std::optional<double> most;
  for (const Row* row : Of(probe, step)) {
    if (const auto number = row->Number(name)) most = std::max(most.value_or(*number), *number);
  }
  return most;
}

std::optional<double> Evidence::Least(std::string_view probe, std::string_view step, std::string_view name) const {
  std::optional<double> least;
  for (const Row* row : Of(probe, step)) {
    if (const auto number = row->Number(name)) least = std::min(least.value_or(*number), *number);
  }
  return least;
}

std::string Evidence::Undecided(std::string_view probe, std::string_view step) const {
  std::string reasons;
  int count = 0;
  for (const Row* row : Of(probe, step)) {
    const std::string reason = row->Text("reason");
    if (reason.empty() || row->Text("outcome").empty() || reasons.find(reason) != std::string::npos) continue;
    if (++count > 2) break;
    reasons += (reasons.empty() ? "" : "; ") + row->step + ": " + reason;
  }
  return "undecided: " + (reasons.empty() ? "it was not asked" : reasons);
}

std::string Show(double number) {
  char text[40];
  const double size = std::fabs(number);
  if (number == std::floor(number) && size < 1e12) {
    std::snprintf(text, sizeof text, "%.0f", number);
  } else {
    std::snprintf(text, sizeof text, size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : size >= 1 ? "%.2f" : "%.3g", number);
  }
  std::string digits = text;
  const size_t point = std::min(digits.find('.'), digits.size());
  if (digits.find('e') != std::string::npos) return digits;
  for (size_t i = point; i > 3 + (number < 0 ? 1u : 0u); i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string Show(const Value& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "yes" : "no";
  if (const double* number = std::get_if<double>(&value)) return Show(*number);
  return std::get<std::string>(value);
}

}  // namespace tutti::gpu
