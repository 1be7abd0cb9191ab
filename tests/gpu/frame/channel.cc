#include "frame/channel.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "frame/evidence.h"
#include "frame/progress.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "os/socket.h"

namespace tutti::gpu {
namespace {

double Patience(double seconds) { return seconds * Here().Size(1.0, kSmallPatience); }

}  // namespace

std::pair<os::Fd, os::Fd> Channel::Pair() {
  auto pair = os::SocketPair();
  if (!pair) GiveUp(Outcome::kFailed, "no pair of sockets: " + pair.error().text);
  return std::move(*pair);
}

void Channel::Say(std::string_view word, const std::vector<double>& numbers, const std::vector<int>& fds) {
  std::string text(word);
  for (const double number : numbers) {
    char digits[40];
    std::snprintf(digits, sizeof digits, " %.17g", number);
    text += digits;
  }
  // To somebody who is gone nothing can be said; that is noticed when an answer is expected.
  (void)os::Send(socket_.get(), std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()), fds);
}

Heard Channel::Hear(double seconds) {
  Heard heard;
  auto message = os::Receive(socket_.get(), static_cast<int>(Patience(seconds) * 1000));
  if (!message) return heard;
  heard.text.assign(message->bytes.begin(), message->bytes.end());
  std::istringstream text(heard.text);
  text >> heard.word;
  for (double number; text >> number;) heard.numbers.push_back(number);
  heard.fds = std::move(message->fds);
  return heard;
}

Heard Channel::Expect(std::string_view word, std::string_view whom, double seconds) {
  Heard heard = Hear(seconds);
  if (heard.word == word) return heard;
  if (heard.word.starts_with('!')) {
    GiveUp(heard.word == "!lacks" ? Outcome::kLacks : Outcome::kFailed,
           std::string(whom) + ": " + heard.text.substr(std::min(heard.text.size(), heard.word.size() + 1)));
  }
  const bool silent = heard.word.empty() && !os::HungUp(socket_.get());
  const std::string calls = silent ? ReadProgress(kProgressFd) : "";
  GiveUp(Outcome::kFailed, std::string(whom) +
                               (silent               ? " said nothing for " + Show(Patience(seconds)) + " s"
                                : heard.word.empty() ? " ended"
                                                     : " said \"" + heard.word + "\"") +
                               " where \"" + std::string(word) + "\" was expected" +
                               (calls.empty() ? "" : ", inside " + calls));
}

}  // namespace tutti::gpu
