// Looks a word up in a small table of names known at compile time.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

namespace tutti::ptx {

// Values are the positions of the names. Thread-safe once constructed.
template <typename E>
class NameTable {
 public:
  explicit NameTable(std::span<const std::string_view> names) : names_(names) {
    by_name_.reserve(names.size());
    for (size_t i = 0; i < names.size(); ++i) by_name_.emplace(names[i], static_cast<E>(i));
  }
  std::optional<E> Find(std::string_view name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return std::nullopt;
    return found->second;
  }
  std::string_view Name(E value) const {
    const auto i = static_cast<size_t>(value);
    return i < names_.size() ? names_[i] : std::string_view("?");
  }

 private:
  std::span<const std::string_view> names_;
  std::unordered_map<std::string_view, E> by_name_;
};

}  // namespace tutti::ptx
