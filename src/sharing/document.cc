#include "sharing/document.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <set>

#include "base/nearest.h"

namespace tutti::sharing {
namespace {

template <typename T>
std::optional<T> Parsed(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool Value::IsMap() const { return node_->IsMap(); }
bool Value::IsList() const { return node_->IsSequence(); }
bool Value::IsNull() const { return !node_->IsDefined() || node_->IsNull(); }
bool Value::IsQuoted() const { return node_->IsScalar() && node_->Tag() == "!"; }

std::unexpected<Error> Value::Wrong(std::string_view text) const {
  const int line = node_->Mark().line;
  return line < 0 ? Fail(fmt::format("{}: {}", *file_, text)) : Fail(fmt::format("{}:{}: {}", *file_, line + 1, text));
}

std::string Value::Shown() const {
  if (node_->IsMap()) return "a map";
  if (node_->IsSequence()) return "a list";
  if (IsNull()) return "nothing";
  // Quoted input goes to terminals and logs: one line of bounded length.
  std::string text = node_->Scalar().substr(0, 100);
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

Value Value::Child(const YAML::Node& node, std::string path) const {
  return {std::make_shared<const YAML::Node>(node), std::move(path), file_};
}

Status Value::OnlyKeys(std::initializer_list<std::string_view> keys) const {
  if (IsNull()) return {};
  const std::string where = path_.empty() ? "the file" : path_;
  if (!IsMap()) return Wrong(fmt::format("{} must be a map of keys, but is {}", where, Shown()));
  std::set<std::string> seen;
  for (const auto& entry : *node_) {
    const Value key = Child(entry.first, path_);
    if (!entry.first.IsScalar())
      return key.Wrong(fmt::format("a key of {} must be a word, but is {}", where, key.Shown()));
    const std::string& word = entry.first.Scalar();
    if (std::find(keys.begin(), keys.end(), word) == keys.end()) {
      return key.Wrong(
          fmt::format("unknown key \"{}\" in {}{}", key.Shown(), where, Suggestion(word, {keys.begin(), keys.size()})));
    }
    if (!seen.insert(word).second)
      return key.Wrong(fmt::format("key \"{}\" stands twice in {}: remove one", word, where));
  }
  return {};
}

std::optional<Value> Value::Find(std::string_view key) const {
  if (!IsMap()) return std::nullopt;
  for (const auto& entry : *node_) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != key) continue;
    if (!entry.second.IsDefined() || entry.second.IsNull()) return std::nullopt;
    return Child(entry.second, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key));
  }
  return std::nullopt;
}

std::vector<std::string> Value::Keys() const {
  std::vector<std::string> keys;
  if (!IsMap()) return keys;
  for (const auto& entry : *node_) {
    if (entry.first.IsScalar()) keys.push_back(entry.first.Scalar());
  }
  return keys;
}

Result<std::vector<Value>> Value::Items() const {
  std::vector<Value> items;
  if (IsNull()) return items;
  if (!IsList()) return Wrong(fmt::format("{} must be a list, but is {}", path_, Shown()));
  for (const YAML::Node& entry : *node_) items.push_back(Child(entry, fmt::format("{}[{}]", path_, items.size())));
  return items;
}

Result<std::string> Value::Text() const {
  if (!node_->IsScalar()) return Wrong(fmt::format("{} must be text, but is {}", path_, Shown()));
  return node_->Scalar();
}

Result<int64_t> Value::Integer() const {
  if (node_->IsScalar() && !IsQuoted()) {
    if (const auto number = Parsed<int64_t>(node_->Scalar())) return *number;
  }
  return Wrong(fmt::format("{} must be a whole number, but is \"{}\"", path_, Shown()));
}

Result<double> Value::Number() const {
  if (node_->IsScalar() && !IsQuoted()) {
    if (const auto number = Parsed<double>(node_->Scalar()); number && *number - *number == 0) return *number;
  }
  return Wrong(fmt::format("{} must be a number, but is \"{}\"", path_, Shown()));
}

Result<bool> Value::Boolean() const {
  if (node_->IsScalar() && !IsQuoted()) {
    const std::string& word = node_->Scalar();
    for (const char* yes : {"true", "True", "TRUE", "yes", "on"}) {
      if (word == yes) return true;
    }
    for (const char* no : {"false", "False", "FALSE", "no", "off"}) {
      if (word == no) return false;
    }
  }
  return Wrong(fmt::format("{} must be true or false, but is \"{}\"", path_, Shown()));
}

Result<std::string> Value::OneOf(std::initializer_list<std::string_view> words) const {
  TUTTI_ASSIGN(const std::string word, Text());
  if (std::find(words.begin(), words.end(), word) != words.end()) return word;
  return Wrong(fmt::format("{} cannot be \"{}\"{}", path_, Shown(), Suggestion(word, {words.begin(), words.size()})));
}

Result<std::vector<Value>> ReadDocuments(std::string_view text, const std::string& name) {
  const auto file = std::make_shared<const std::string>(name);
  // yaml-cpp throws; no exception leaves this function.
  try {
    std::vector<Value> documents;
    for (const YAML::Node& node : YAML::LoadAll(std::string(text))) {
      documents.push_back(Value(std::make_shared<const YAML::Node>(node), "", file));
    }
    return documents;
  } catch (const YAML::Exception& error) {
    return Fail(fmt::format("{}:{}: {}", name, error.mark.line + 1, error.msg));
  } catch (const std::exception& error) {
    return Fail(fmt::format("{}: cannot be read as YAML: {}", name, error.what()));
  }
}

Result<Value> ReadDocument(std::string_view text, const std::string& name) {
  TUTTI_ASSIGN(std::vector<Value> documents, ReadDocuments(text, name));
  if (documents.empty()) {
    TUTTI_ASSIGN(documents, ReadDocuments("{}", name));
  }
  if (documents.size() > 1) return documents[1].Wrong("a second document starts here; one is expected");
  return documents[0];
}

Result<std::string> ReadFile(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(path == "-" ? fdopen(0, "r") : std::fopen(path.c_str(), "r"),
                                                   std::fclose);
  if (!file) return FailErrno("cannot read " + path);
  std::string text(kMaxDocumentBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return FailErrno("cannot read " + path);
  if (text.size() > kMaxDocumentBytes) return Fail(path + " is larger than 1 MiB: is it the right file?");
  return text;
}

}  // namespace tutti::sharing
