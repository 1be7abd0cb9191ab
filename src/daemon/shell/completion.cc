#include "daemon/shell/completion.h"

#include <algorithm>
#include <set>

#include "control/words.h"

namespace tutti::daemon {
namespace {

// Literals, such as "-uid", "server", "list", as opposed to placeholders: "PID", "<name>", "0|1".
bool IsLiteral(std::string_view word) {
  return !word.empty() &&
         std::ranges::all_of(word, [](char c) { return (c >= 'a' && c <= 'z') || c == '_' || c == '-'; });
}

// The words of a command's usage, optional ones without their brackets.
std::vector<std::string> Form(std::string_view line) {
  auto words = control::SplitWords(line.substr(0, line.find("  ")));
  for (std::string& word : words) std::erase_if(word, [](char c) { return c == '[' || c == ']'; });
  return words;
}

bool Fits(const std::vector<std::string>& form, const std::vector<std::string>& typed) {
  for (size_t i = 0; i < typed.size(); ++i) {
    if (i >= form.size() || (IsLiteral(form[i]) && form[i] != typed[i])) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> Completions(std::string_view help, std::string_view line) {
  auto typed = control::SplitWords(line);
  std::string start;
  if (!typed.empty() && !line.ends_with(' ')) {
    start = typed.back();
    typed.pop_back();
  }
  std::set<std::string> found;
  while (!help.empty()) {
    const size_t end = std::min(help.find('\n'), help.size());
    const auto form = Form(help.substr(0, end));
    help.remove_prefix(std::min(end + 1, help.size()));
    if (form.size() <= typed.size() || !Fits(form, typed)) continue;
    std::string choices = form[typed.size()];
    std::ranges::replace(choices, '|', ',');  // "on|off" offers both
    for (const std::string& choice : control::SplitList(choices)) {
      if (IsLiteral(choice) && choice.starts_with(start)) found.insert(choice);
    }
  }
  return {found.begin(), found.end()};
}

std::string CommonStart(const std::vector<std::string>& words) {
  if (words.empty()) return "";
  std::string common = words.front();
  for (const std::string& word : words) {
    const auto [left, right] = std::ranges::mismatch(common, word);
    common.erase(left, common.end());
  }
  return common;
}

}  // namespace tutti::daemon
