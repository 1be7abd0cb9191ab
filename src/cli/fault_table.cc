#include "cli/fault_table.h"

#include <fmt/format.h>

#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <type_traits>

#include "cli/format.h"
#include "cuda/result.h"

namespace tutti::cli {
namespace {

using Json = nlohmann::json;

template <typename T>
bool Read(const Json& json, T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) return false;
    value = json.get<std::string>();
  } else if constexpr (std::is_signed_v<T>) {
    if (!json.is_number_integer() || json.get<int64_t>() < std::numeric_limits<T>::min() ||
        json.get<int64_t>() > std::numeric_limits<T>::max())
      return false;
    value = json.get<T>();
  } else {
    if (!json.is_number_unsigned() || json.get<uint64_t>() > std::numeric_limits<T>::max()) return false;
    value = json.get<T>();
  }
  return true;
}

bool Read(const Json& json, std::array<uint32_t, 3>& place) {
  if (!json.is_array() || json.size() != place.size()) return false;
  for (size_t i = 0; i < place.size(); ++i) {
    if (!Read(json[i], place[i])) return false;
  }
  return true;
}

template <typename T>
bool Read(const Json& json, std::optional<T>& value) {
  return Read(json, value.emplace());
}

// Reads fields of one object and remembers the first unreadable one.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  template <typename T>
  void Get(const char* name, T& value) {
    const auto found = object_.find(name);
    if (found != object_.end() && !Read(*found, value) && odd_.empty()) odd_ = name;
  }
  const std::string& odd() const { return odd_; }

 private:
  const Json& object_;
  std::string odd_;
};

// "FILE:LINE" of the program's source, else of its PTX.
std::string LineOf(const Json& fault, Fields& fields) {
  const auto source = fault.find("source");
  if (source != fault.end() && source->is_object()) {
    std::string file;
    uint32_t line = 0;
    Fields of_source(*source);
    of_source.Get("file", file);
    of_source.Get("line", line);
    if (of_source.odd().empty()) return fmt::format("{}:{}", file, line);
  }
  std::optional<uint32_t> ptx_line;
  fields.Get("ptx_line", ptx_line);
  return ptx_line ? fmt::format("PTX {}", *ptx_line) : "-";
}

std::string Time(uint64_t unix_ns) {
  const auto seconds = static_cast<time_t>(unix_ns / 1'000'000'000u);
  tm local{};
  localtime_r(&seconds, &local);
  char text[32] = "";
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::string Coordinates(const std::optional<std::array<uint32_t, 3>>& at) {
  return at ? fmt::format("{},{},{}", (*at)[0], (*at)[1], (*at)[2]) : "-";
}

std::string ErrorName(int status) {
  const char* const name = cuda::ResultName(status);
  return name != nullptr ? name : std::to_string(status);
}

}  // namespace

Result<Fault> ReadFault(const std::string& line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Fail("the daemon does not know `faults`: " + line.substr(0, 80));
  Fault fault{.json = line};
  uint32_t server = 0;
  Fields fields(json);
  fields.Get("server", server);
  fields.Get("time_ns", fault.time_ns);
  fields.Get("pid", fault.pid);
  fields.Get("uid", fault.uid);
  fields.Get("status", fault.status);
  fields.Get("kernel", fault.kernel);
  fields.Get("block", fault.block);
  fields.Get("thread", fault.thread);
  fields.Get("address", fault.address);
  fault.line = LineOf(json, fields);
  fields.Get("command", fault.command);
  fields.Get("report", fault.report);
  if (fields.odd().empty()) return fault;
  return Fail(fmt::format("server {} reports a fault with an invalid \"{}\"", server, fields.odd()));
}

std::string FaultTable(const std::vector<Fault>& faults) {
  std::vector<std::vector<std::string>> rows{
      {"TIME", "PID", "USER", "ERROR", "KERNEL", "BLOCK", "THREAD", "ADDRESS", "LINE", "COMMAND"}};
  for (const Fault& fault : faults) {
    rows.push_back({Time(fault.time_ns), std::to_string(fault.pid), UserName(fault.uid), ErrorName(fault.status),
                    Shortened(fault.kernel, 40), Coordinates(fault.block), Coordinates(fault.thread),
                    fault.address ? fmt::format("{:#x}", *fault.address) : "-", Shortened(fault.line, 40),
                    Shortened(CommandName(fault.command), 40)});
  }
  std::istringstream table(Table(rows, {1}));
  std::string text, line;
  std::getline(table, line);
  text = line + "\n";
  for (const Fault& fault : faults) {
    std::getline(table, line);
    text += line + "\n  " + Shortened(fault.report, 400) + "\n";
  }
  return text;
}

}  // namespace tutti::cli
