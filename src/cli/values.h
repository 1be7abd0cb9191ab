// Validates option values. The error names the value and what to give instead.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command_line/command_line.h"

namespace tutti::cli {

// Parses the whole text as a number.
template <typename T>
std::optional<T> ReadNumber(const std::string& text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional<T>(value) : std::nullopt;
}

inline command_line::Validator OneOf(std::vector<std::string> words) {
  const std::string all = fmt::format("{{{}}}", fmt::join(words, ","));
  return {[words = std::move(words)](const std::string& text) {
            if (std::ranges::find(words, text) != words.end()) return std::string();
            return fmt::format("\"{}\" is unknown: give {}", text, fmt::join(words, " or "));
          },
          all};
}

inline command_line::Validator Between(double least, double most) {
  return {[least, most](const std::string& text) {
            const auto value = ReadNumber<double>(text);
            if (value && *value >= least && *value <= most) return std::string();
            return fmt::format("\"{}\" is {}: give a number from {} to {}", text,
                               value ? "out of range" : "not a number", least, most);
          },
          fmt::format("[{} - {}]", least, most)};
}

inline command_line::Validator WholeNumber(const char* example) {
  return {[example](const std::string& text) {
            return ReadNumber<uint32_t>(text)
                       ? std::string()
                       : fmt::format("\"{}\" is not a whole number: give one, as {}", text, example);
          },
          ""};
}

}  // namespace tutti::cli
