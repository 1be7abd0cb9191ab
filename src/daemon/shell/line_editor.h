// Reads lines from a terminal: prompt, editing, persistent history, completion.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tutti::daemon {

class LineEditor {
 public:
  // `complete` gets the line up to the cursor and returns the candidates for its last word.
  explicit LineEditor(std::function<std::vector<std::string>(const std::string&)> complete);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next line without its newline; nothing at the end of input.
  std::optional<std::string> Next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The history file, in $XDG_STATE_HOME or ~/.local/state; "" if neither is known.
std::string HistoryFile();

}  // namespace tutti::daemon
