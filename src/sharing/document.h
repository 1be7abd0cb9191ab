// Strict reader of hand-written configuration files in YAML or JSON (a subset of YAML). Every error names the file and
// the line, and for an unknown word the nearest valid one.
//
// A Value refers to a node of a document and keeps the document alive. Immutable; not thread-safe, since yaml-cpp's
// nodes share state.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace YAML {
class Node;
}

namespace tutti::sharing {

inline constexpr size_t kMaxDocumentBytes = 1 << 20;

class Value {
 public:
  bool IsMap() const;
  bool IsList() const;
  bool IsNull() const;       // missing, or `null`
  bool IsQuoted() const;     // a quoted scalar: text, even if it looks like a number

  // Fails unless this is a map (or missing) whose keys are unique and all among `keys`.
  Status OnlyKeys(std::initializer_list<std::string_view> keys) const;
  // The value of a key; nothing if the key is missing or its value is null.
  std::optional<Value> Find(std::string_view key) const;
  // The keys of a map, in the file's order.
  std::vector<std::string> Keys() const;
  // The entries of a list; fails for other types. A missing value is an empty list.
  Result<std::vector<Value>> Items() const;

  Result<std::string> Text() const;  // any scalar
  Result<int64_t> Integer() const;
  Result<double> Number() const;
  Result<bool> Boolean() const;
  // One of `words`, exactly.
  Result<std::string> OneOf(std::initializer_list<std::string_view> words) const;
  // The scalar, for an error text; else "a map" or "a list".
  std::string Shown() const;

  // "FILE:LINE: text".
  std::unexpected<Error> Wrong(std::string_view text) const;
  // The path of this value: "sharing.mps.resources[0].replicas".
  const std::string& path() const { return path_; }

 private:
  friend Result<std::vector<Value>> ReadDocuments(std::string_view text, const std::string& name);
  Value(std::shared_ptr<const YAML::Node> node, std::string path, std::shared_ptr<const std::string> file)
      : node_(std::move(node)), path_(std::move(path)), file_(std::move(file)) {}
  Value Child(const YAML::Node& node, std::string path) const;

  std::shared_ptr<const YAML::Node> node_;
  std::string path_;
  std::shared_ptr<const std::string> file_;
};

// All documents of a text (separated by "---"). `name` names the file in errors.
Result<std::vector<Value>> ReadDocuments(std::string_view text, const std::string& name);
// The one document of a text; an empty text is an empty map.
Result<Value> ReadDocument(std::string_view text, const std::string& name);

// The bytes of a file of at most kMaxDocumentBytes; "-" is stdin.
Result<std::string> ReadFile(const std::string& path);

}  // namespace tutti::sharing
