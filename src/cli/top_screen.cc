#include "cli/top_screen.h"

#include <curses.h>
#include <fmt/format.h>

#include <algorithm>
#include <clocale>

#include "cli/format.h"
#include "control/limits.h"

namespace tutti::cli {
namespace {

enum Colour : short { kPlain = 0, kHeader = 1, kBusy = 2, kFault = 3, kDim = 4 };

constexpr int kBarWidth = 30;
constexpr const char* kRowFormat = "{:>8} {:<10} {:>3} {:>6} {:<10} {:>7} {:>10} {:>10} {:>9}  {}";

void Line(int y, const std::string& text, int attributes) {
  if (y >= LINES) return;
  attron(attributes);
  mvaddnstr(y, 0, text.c_str(), COLS);
  attroff(attributes);
}

// "[||||||      ]", its filled part in colour.
void DrawBar(int y, int x, double fraction, int width) {
  const int filled = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * width + 0.5);
  mvaddch(y, x, '[');
  attron(COLOR_PAIR(kBusy));
  for (int i = 0; i < filled; ++i) addch('|');
  attroff(COLOR_PAIR(kBusy));
  for (int i = filled; i < width; ++i) addch(' ');
  addch(']');
}

// A device's name, its utilisation, and on a wide terminal its memory.
int DrawDevices(const TopModel& model, int y) {
  const bool wide = COLS >= 100;
  const int bar = wide ? kBarWidth : COLS / 5;
  const int x = COLS - bar - (wide ? bar / 2 + 26 : 10);
  for (const TopDevice& device : model.devices) {
    if (y >= LINES - 3) break;
    const std::string name =
        fmt::format("{} {}, {} SMs, of {}", device.ordinal, device.name, device.sm_count, device.user);
    Line(y, Shortened(name, static_cast<size_t>(std::max(1, x - 1))), 0);
    DrawBar(y, x, device.busy, bar);
    printw(" %6s", Percent(device.busy).c_str());
    const double memory =
        device.total_bytes == 0 ? 0 : static_cast<double>(device.used_bytes) / static_cast<double>(device.total_bytes);
    if (wide) {
      DrawBar(y, getcurx(stdscr) + 2, memory, bar / 2);
      printw(" %s", Bytes(device.used_bytes).c_str());
    }
    ++y;
  }
  return y;
}

std::string RowText(const TopRow& row) {
  const std::string said = row.kernel.empty() ? row.command : row.command + ": " + row.kernel;
  const std::string command = Shortened(said, static_cast<size_t>(std::max(8, COLS - 86)));
  return fmt::format(fmt::runtime(kRowFormat), row.pid, Shortened(row.user, 10), row.device, Percent(row.share),
                     Bar(row.share, 10), control::FormatPercentage(row.percentage) + "%", Bytes(row.used_bytes),
                     row.limit_bytes ? Bytes(*row.limit_bytes) : "-", Count(row.launches_per_second), command);
}

const char* OrderName(TopOrder order) {
  switch (order) {
    case TopOrder::kShare: return "share";
    case TopOrder::kMemory: return "memory";
    case TopOrder::kLaunches: return "launches";
    case TopOrder::kPid: return "process id";
  }
  return "";
}

}  // namespace

TopScreen::TopScreen() {
  std::setlocale(LC_CTYPE, "");
  initscr();
  cbreak();
  noecho();
  keypad(stdscr, TRUE);
  curs_set(0);
  if (has_colors()) {
    start_color();
    use_default_colors();
    init_pair(kHeader, COLOR_BLACK, COLOR_CYAN);
    init_pair(kBusy, COLOR_GREEN, -1);
    init_pair(kFault, COLOR_RED, -1);
    init_pair(kDim, COLOR_BLUE, -1);
  }
}

TopScreen::~TopScreen() { endwin(); }

void TopScreen::Draw(const TopModel& model, TopOrder order, bool paused) {
  erase();
  Line(0,
       fmt::format("tutti top   policy {}   {}   {}{}", model.policy, Plural(model.servers, "server"),
                   Plural(model.rows.size(), "client"), paused ? "   PAUSED" : ""),
       A_BOLD);
  int y = DrawDevices(model, 1) + 1;
  const std::string header = fmt::format(fmt::runtime(kRowFormat), "PID", "USER", "DEV", "SHARE", "", "THREADS",
                                         "MEMORY", "LIMIT", "LAUNCH/S", "COMMAND");
  Line(y++, header + std::string(static_cast<size_t>(std::max(0, COLS - static_cast<int>(header.size()))), ' '),
       COLOR_PAIR(kHeader));
  for (const TopRow& row : model.rows) {
    if (y >= LINES - 1) break;
    Line(y++, RowText(row), row.state == "FAULT" ? COLOR_PAIR(kFault) : 0);
  }
  if (model.rows.empty()) Line(y, "no clients", A_DIM);
  Line(LINES - 1, fmt::format("sorted by {}   s share  m memory  l launches  i id   p pause  q quit", OrderName(order)),
       A_DIM);
  refresh();
}

TopScreen::Key TopScreen::Wait(int milliseconds) {
  timeout(milliseconds);
  switch (getch()) {
    case 'q':
    case 'Q':
    case 27: return Key::kQuit;
    case 's': return Key::kShare;
    case 'm': return Key::kMemory;
    case 'l': return Key::kLaunches;
    case 'i': return Key::kPid;
    case 'p':
    case ' ': return Key::kPause;
    case KEY_RESIZE: return Key::kResize;
    default: return Key::kNone;
  }
}

}  // namespace tutti::cli
