#include "daemon/line_editor.h"

#include <histedit.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "daemon/completion.h"

namespace tutti::daemon {
namespace {

constexpr int kHistoryLines = 1000;
constexpr const char* kProgram = "tutti-control";

char* Prompt(EditLine*) {
  static char prompt[] = "tutti> ";
  return prompt;
}

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

std::string HistoryFile() {
  const std::string state = Environment("XDG_STATE_HOME");
  if (!state.empty()) return state + "/tutti/control_history";
  const std::string home = Environment("HOME");
  return home.empty() ? "" : home + "/.local/state/tutti/control_history";
}

struct LineEditor::State {
  EditLine* editor = nullptr;
  History* history = nullptr;
  std::string file = HistoryFile();
  std::function<std::vector<std::string>(const std::string&)> complete;

  static unsigned char Complete(EditLine* editor, int) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    const LineInfo* const line = el_line(editor);
    const std::string typed(line->buffer, line->cursor);
    const auto words = static_cast<State*>(self)->complete(typed);
    if (words.empty()) return CC_REFRESH_BEEP;
    const size_t start = typed.size() - (typed.find_last_of(' ') == std::string::npos ? 0 : typed.find_last_of(' ') + 1);
    std::string rest = CommonStart(words).substr(start);
    if (words.size() == 1) rest += ' ';
    if (!rest.empty()) return el_insertstr(editor, rest.c_str()) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
    std::fputc('\n', stdout);
    for (const std::string& word : words) std::fprintf(stdout, "%s\n", word.c_str());
    return CC_REDISPLAY;
  }
};

LineEditor::LineEditor(std::function<std::vector<std::string>(const std::string&)> complete) : state_(std::make_unique<State>()) {
  state_->complete = std::move(complete);
  state_->editor = el_init(kProgram, stdin, stdout, stderr);
  state_->history = history_init();
  HistEvent event;
  history(state_->history, &event, H_SETSIZE, kHistoryLines);
  history(state_->history, &event, H_SETUNIQUE, 1);
  if (!state_->file.empty()) history(state_->history, &event, H_LOAD, state_->file.c_str());
  EditLine* const editor = state_->editor;
  el_set(editor, EL_CLIENTDATA, state_.get());
  el_set(editor, EL_PROMPT, Prompt);
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_SIGNAL, 1);
  el_set(editor, EL_HIST, history, state_->history);
  el_set(editor, EL_ADDFN, "complete", "finish the word", &State::Complete);
  el_set(editor, EL_BIND, "^I", "complete", nullptr);
  el_source(editor, nullptr);  // the person's own ~/.editrc
}

LineEditor::~LineEditor() {
  if (!state_->file.empty()) {
    std::error_code ignored;  // a history that cannot be kept is no reason to complain
    std::filesystem::create_directories(std::filesystem::path(state_->file).parent_path(), ignored);
    HistEvent event;
    history(state_->history, &event, H_SAVE, state_->file.c_str());
  }
  history_end(state_->history);
  el_end(state_->editor);
}

std::optional<std::string> LineEditor::Next() {
  int count = 0;
  const char* const text = el_gets(state_->editor, &count);
  if (text == nullptr || count <= 0) return std::nullopt;
  std::string line(text, static_cast<size_t>(count));
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  HistEvent event;
  if (line.find_first_not_of(" \t") != std::string::npos) history(state_->history, &event, H_ENTER, line.c_str());
  return line;
}

}  // namespace tutti::daemon
