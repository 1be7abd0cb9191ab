// The contents of results.jsonl, for decision rules and for the page.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tutti::gpu {

using Value = std::variant<double, bool, std::string>;

struct Row {
  std::string section, probe, step;
  std::vector<std::pair<std::string, Value>> values;  // in the order in which they were written

  const Value* Find(std::string_view name) const;
  std::optional<double> Number(std::string_view name) const;
  std::optional<bool> Truth(std::string_view name) const;
  std::string Text(std::string_view name) const;  // empty: there is none
};

class Evidence {
 public:
  // Lines that are no complete record are left out: the last one of a run that was killed may be.
  static Evidence Read(const std::string& path);

  const std::vector<Row>& rows() const { return rows_; }
  // The rows of a probe's step, or of all steps whose name begins with `step` if that ends in '*'; without a step, of
  // all.
  std::vector<const Row*> Of(std::string_view probe, std::string_view step = "*") const;
  // The first that has it.
  std::optional<double> Number(std::string_view probe, std::string_view step, std::string_view name) const;
  std::optional<bool> Truth(std::string_view probe, std::string_view step, std::string_view name) const;
  std::string Text(std::string_view probe, std::string_view step, std::string_view name) const;
  // Over all rows that have it.
  std::optional<double> Most(std::string_view probe, std::string_view step, std::string_view name) const;
  std::optional<double> Least(std::string_view probe, std::string_view step, std::string_view name) const;

  // "undecided: " and why steps of the probe did not answer.
  std::string Undecided(std::string_view probe, std::string_view step = "*") const;

 private:
  std::vector<Row> rows_;
};

// 12.3, 0.0123, 12,300: three digits that matter.
std::string Show(double number);
std::string Show(const Value& value);

}  // namespace tutti::gpu
