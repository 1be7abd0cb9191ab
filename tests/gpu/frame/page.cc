#include "frame/page.h"

#include <algorithm>
#include <set>

#include "frame/probe.h"

namespace tutti::gpu {
namespace {

bool IsEnding(const Row& row) { return !row.Text("outcome").empty(); }

std::string Escaped(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

bool SameColumns(const Row& a, const Row& b) {
  return a.values.size() == b.values.size() &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

// Rows of the same columns are one table.
std::string Tables(const std::vector<const Row*>& rows) {
  std::string text;
  std::vector<const Row*> left;
  for (const Row* row : rows) {
    if (!IsEnding(*row) && !row->values.empty()) left.push_back(row);
  }
  while (!left.empty()) {
    const Row& first = *left.front();
    text += "| step |";
    std::string line = "|---|";
    for (const auto& [name, value] : first.values) {
      text += " " + Escaped(name) + " |";
      line += "---|";
    }
    text += "\n" + line + "\n";
    std::vector<const Row*> others;
    for (const Row* row : left) {
      if (!SameColumns(*row, first)) {
        others.push_back(row);
        continue;
      }
      text += "| " + row->step + " |";
      for (const auto& [name, value] : row->values) text += " " + Escaped(Show(value)) + " |";
      text += "\n";
    }
    text += "\n";
    left = std::move(others);
  }
  return text;
}

std::string Unanswered(const std::vector<const Row*>& rows) {
  std::string text;
  for (const Row* row : rows) {
    if (IsEnding(*row) && row->Text("outcome") != "done")
      text += "* `" + row->step + "` gave no answer: " + Escaped(row->Text("reason")) + "\n";
  }
  return text.empty() ? "" : text + "\n";
}

// What was asked for: probes of which there is any row.
std::vector<const Probe*> Asked(const Section& section, const Evidence& evidence) {
  std::vector<const Probe*> asked;
  for (const Probe* probe : section.probes) {
    if (!evidence.Of(probe->id).empty()) asked.push_back(probe);
  }
  // The probes run in the order of their weight and are read in the order of their numbers.
  std::stable_sort(asked.begin(), asked.end(), [](const Probe* a, const Probe* b) {
    const auto number = [](const Probe* p) {
      return p->id.starts_with('P') ? std::stoi(std::string(p->id.substr(1))) : 0;
    };
    return number(a) < number(b);
  });
  return asked;
}

}  // namespace

std::string Page(const Evidence& evidence) {
  std::string text = "# What a GPU does\n\n";
  const std::string start = evidence.Text("start", "run", "date");
  text += "Written by `./dev gpu`" + (start.empty() ? "" : " on " + start) +
          ". Device: " + evidence.Text("start", "look", "name") +
          "; driver: " + evidence.Text("start", "run", "driver") + ".";
  if (evidence.Truth("start", "run", "small").value_or(false)) text += " **Small sizes: the numbers mean nothing.**";
  text += "\n\n";
  for (const Section& section : Sections()) {
    const auto asked = Asked(section, evidence);
    if (asked.empty()) continue;
    text += "## " + std::string(section.title) + "\n\n";
    for (const Probe* probe : asked) {
      const auto rows = evidence.Of(probe->id);
      text += "### " + std::string(probe->id) + ". " + std::string(probe->question) + "\n\n";
      text += "**Decision:** " + probe->decide(evidence) + "\n\n";
      text += Tables(rows) + Unanswered(rows);
    }
  }
  return text;
}

std::string Summary(const Evidence& evidence, const std::string& out) {
  std::vector<std::string> lines;
  size_t steps = 0, answered = 0;
  for (const Row& row : evidence.rows()) {
    if (!IsEnding(row) || row.probe == "start") continue;
    ++steps;
    answered += row.Text("outcome") == "done" ? 1 : 0;
  }
  lines.push_back(evidence.Text("start", "look", "name") + ": " + std::to_string(answered) + " of " +
                  std::to_string(steps) + " steps answered");
  for (const Section& section : Sections()) {
    for (const Probe* probe : Asked(section, evidence))
      lines.push_back(std::string(probe->id) + ": " + probe->decide(evidence));
  }
  constexpr size_t kLines = 39, kWidth = 160;
  if (lines.size() > kLines) lines.resize(kLines);
  lines.push_back("The page: " + out + "/results.md; every result: " + out + "/results.jsonl");
  std::string text;
  for (std::string line : lines) {
    std::replace(line.begin(), line.end(), '\n', ' ');
    if (line.size() > kWidth) line = line.substr(0, kWidth - 3) + "...";
    text += line + "\n";
  }
  return text;
}

}  // namespace tutti::gpu
