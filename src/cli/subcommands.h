// The subcommands of `tutti`. Each adds itself to the command line; its callback sets the exit status through `status`:
// 0 success, 1 failure (with a line on stderr), 2 wrong usage.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tutti::cli {

void AddRun(CLI::App& app, int& status);
void AddPs(CLI::App& app, int& status);
void AddLimit(CLI::App& app, int& status);
void AddPolicy(CLI::App& app, int& status);
void AddTop(CLI::App& app, int& status);
void AddStatus(CLI::App& app, int& status);
void AddDevice(CLI::App& app, int& status);
void AddFaults(CLI::App& app, int& status);
void AddTrace(CLI::App& app, int& status);
void AddTimeline(CLI::App& app, int& status);
void AddDoctor(CLI::App& app, int& status);
void AddDemo(CLI::App& app, int& status);
void AddBench(CLI::App& app, int& status);
void AddPlan(CLI::App& app, int& status);
void AddRecommend(CLI::App& app, int& status);
void AddCdi(CLI::App& app, int& status);
void AddCompletion(CLI::App& app, int& status);

// Prints "tutti: <text>" to stderr; returns 1.
int Complain(const std::string& text);

}  // namespace tutti::cli
