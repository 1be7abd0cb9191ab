// Lines from a person at a terminal: prompt, editing, history (kept in a file from one session to the next),
// completion.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tutti::daemon {

class LineEditor {
 public:
  // `complete` gets the line up to the cursor and gives the words its last word may be.
  explicit LineEditor(std::function<std::vector<std::string>(const std::string&)> complete);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next line without its end; nothing at the end of input.
  std::optional<std::string> Next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Where the history is kept: $XDG_STATE_HOME or ~/.local/state; "" if neither is known.
std::string HistoryFile();

}  // namespace tutti::daemon
