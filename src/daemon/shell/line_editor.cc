#include "daemon/shell/line_editor.h"

#include <cstdio>
#include <filesystem>

#include "daemon/shell/completion.h"
#include "daemon/shell/edit_library.h"
#include "os/program.h"

namespace tutti::daemon {
namespace {

constexpr int kHistoryLines = 1000;
constexpr const char* kProgram = "tutti-control";

char* Prompt(EditLine*) {
  static char prompt[] = "tutti> ";
  return prompt;
}

std::string WithoutEnd(std::string line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return line;
}

}  // namespace

std::string HistoryFile() {
  const std::string state = os::Environment("XDG_STATE_HOME");
  if (!state.empty()) return state + "/tutti/control_history";
  const std::string home = os::Environment("HOME");
  return home.empty() ? "" : home + "/.local/state/tutti/control_history";
}

struct LineEditor::State {
  const EditLibrary* edit = LoadEditLibrary();  // null: a plain prompt
  EditLine* editor = nullptr;
  History* history = nullptr;
  std::string file = HistoryFile();
  std::function<std::vector<std::string>(const std::string&)> complete;

  static unsigned char Complete(EditLine* editor, int);
  void Begin();
  void End();
  std::optional<std::string> Edited();
  static std::optional<std::string> Plain();
};

unsigned char LineEditor::State::Complete(EditLine* editor, int) {
  const EditLibrary& edit = *LoadEditLibrary();  // it has made this editor
  void* self = nullptr;
  edit.el_get(editor, EL_CLIENTDATA, &self);
  const LineInfo* const line = edit.el_line(editor);
  const std::string typed(line->buffer, line->cursor);
  const auto words = static_cast<State*>(self)->complete(typed);
  if (words.empty()) return CC_REFRESH_BEEP;
  const size_t start = typed.size() - (typed.find_last_of(' ') == std::string::npos ? 0 : typed.find_last_of(' ') + 1);
  std::string rest = CommonStart(words).substr(start);
  if (words.size() == 1) rest += ' ';
  if (!rest.empty()) return edit.el_insertstr(editor, rest.c_str()) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
  std::fputc('\n', stdout);
  for (const std::string& word : words) std::fprintf(stdout, "%s\n", word.c_str());
  return CC_REDISPLAY;
}

void LineEditor::State::Begin() {
  editor = edit->el_init(kProgram, stdin, stdout, stderr);
  history = edit->history_init();
  HistEvent event;
  edit->history(history, &event, H_SETSIZE, kHistoryLines);
  edit->history(history, &event, H_SETUNIQUE, 1);
  if (!file.empty()) edit->history(history, &event, H_LOAD, file.c_str());
  edit->el_set(editor, EL_CLIENTDATA, this);
  edit->el_set(editor, EL_PROMPT, Prompt);
  edit->el_set(editor, EL_EDITOR, "emacs");
  edit->el_set(editor, EL_SIGNAL, 1);
  edit->el_set(editor, EL_HIST, edit->history, history);
  edit->el_set(editor, EL_ADDFN, "complete", "finish the word", &State::Complete);
  edit->el_set(editor, EL_BIND, "^I", "complete", nullptr);
  edit->el_source(editor, nullptr);  // the user's ~/.editrc
}

void LineEditor::State::End() {
  if (!file.empty()) {
    std::error_code ignored;  // failing to store the history is no error
    std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
    HistEvent event;
    edit->history(history, &event, H_SAVE, file.c_str());
  }
  edit->history_end(history);
  edit->el_end(editor);
}

std::optional<std::string> LineEditor::State::Edited() {
  int count = 0;
  const char* const text = edit->el_gets(editor, &count);
  if (text == nullptr || count <= 0) return std::nullopt;
  std::string line = WithoutEnd({text, static_cast<size_t>(count)});
  HistEvent event;
  if (line.find_first_not_of(" \t") != std::string::npos) edit->history(history, &event, H_ENTER, line.c_str());
  return line;
}

std::optional<std::string> LineEditor::State::Plain() {
  std::fputs(Prompt(nullptr), stdout);
  std::fflush(stdout);
  char* text = nullptr;
  size_t room = 0;
  const ssize_t count = getline(&text, &room, stdin);
  std::optional<std::string> line;
  if (count > 0) line = WithoutEnd({text, static_cast<size_t>(count)});
  std::free(text);
  return line;
}

LineEditor::LineEditor(std::function<std::vector<std::string>(const std::string&)> complete)
    : state_(std::make_unique<State>()) {
  state_->complete = std::move(complete);
  if (state_->edit != nullptr) state_->Begin();
}

LineEditor::~LineEditor() {
  if (state_->edit != nullptr) state_->End();
}

std::optional<std::string> LineEditor::Next() { return state_->edit != nullptr ? state_->Edited() : State::Plain(); }

}  // namespace tutti::daemon
