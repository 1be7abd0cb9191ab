// Numbers and tables for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::cli {

std::string Bytes(uint64_t bytes);       // "1.5 GiB"
std::string Count(double number);        // "12.3k"
std::string Percent(double fraction);    // 0.125: "12.5%"
std::string Plural(size_t number, const std::string& noun);  // "1 server", "2 servers"
std::string CommandName(const std::string& command);  // without the directory of the program
std::string UserName(uint32_t uid);      // the number if there is no name
std::string Shortened(std::string text, size_t width);  // with an ellipsis; control characters become '?'

// Columns as wide as their widest cell, two spaces apart; columns in `right` are right-aligned. The first row is the
// header. Control characters become '?'.
std::string Table(const std::vector<std::vector<std::string>>& rows, const std::vector<size_t>& right = {});

// Width of the terminal on stdout; 120 if it is none.
size_t TerminalWidth();

}  // namespace tutti::cli
