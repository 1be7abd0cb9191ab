#include "frame/record.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "frame/settings.h"
#include "os/socket.h"

namespace tutti::gpu {
namespace {

int give_up_channel = -1;

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned char>(c));
      quoted += code;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace

Record::Record() : Record("", "", "") {
  // "probes/P8/far_read": section, probe, step.
  const std::string& name = Here().step;
  const size_t first = name.find('/'), second = name.find('/', first + 1);
  text_.clear();
  *this = Record(name.substr(0, first), name.substr(first + 1, second - first - 1), name.substr(second + 1));
}

Record::Record(std::string_view section, std::string_view probe, std::string_view step)
    : text_("{\"section\":" + Quoted(section) + ",\"probe\":" + Quoted(probe) + ",\"step\":" + Quoted(step)) {}

Record& Record::Set(std::string_view name, double value) {
  char number[40];
  if (!std::isfinite(value)) return Set(name, "not a number");
  std::snprintf(number, sizeof number, std::fabs(value) < 1e15 && value == std::floor(value) ? "%.0f" : "%.6g", value);
  text_ += "," + Quoted(name) + ":" + number;
  return *this;
}

Record& Record::Set(std::string_view name, bool value) {
  text_ += "," + Quoted(name) + (value ? ":true" : ":false");
  return *this;
}

Record& Record::Set(std::string_view name, std::string_view value) {
  text_ += "," + Quoted(name) + ":" + Quoted(value);
  return *this;
}

void Record::Write(int fd) {
  const std::string line = text_ + "}\n";
  if (write(fd >= 0 ? fd : kResultsFd, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    std::fprintf(stderr, "a result could not be written: %s", line.c_str());
}

void GiveUpBy(int channel) { give_up_channel = channel; }

void GiveUp(Outcome outcome, std::string_view reason) {
  const std::string_view what = outcome == Outcome::kLacks ? "lacks" : "failed";
  if (give_up_channel >= 0) {
    const std::string message = "!" + std::string(what) + " " + std::string(reason);
    (void)os::Send(give_up_channel, std::span(reinterpret_cast<const uint8_t*>(message.data()), message.size()));
  } else {
    Record().Set("outcome", what).Set("reason", reason).Write();
  }
  std::fprintf(stderr, "%.*s\n", static_cast<int>(reason.size()), reason.data());
  std::fflush(nullptr);
  _exit(kGaveUp);
}

}  // namespace tutti::gpu
