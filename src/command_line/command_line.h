// The command line of a program: its options, subcommands and help. A command is declared once, option by option, each
// bound to a variable; then Parse fills the variables or explains what is wrong.
//
//   command_line::Command line("greet", "Greets people.");
//   int times = 1;
//   std::vector<std::string> names;
//   line.AddOption("-n,--times", &times, "How often").Check(command_line::Range(1, 10)).ShowDefault();
//   line.AddOption("names", &names, "Who").Required();
//   if (const auto status = line.Parse(argc, argv)) return *status;
//
// Variables keep their value if their option is not given, and must outlive Parse and the command's action. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tutti::command_line {

// Where an option's value goes; its type decides which texts are values. A vector takes all that are given.
using Target =
    std::variant<bool*, int*, uint32_t*, uint64_t*, double*, std::string*, std::vector<std::string>*,
                 std::optional<bool>*, std::optional<int>*, std::optional<uint32_t>*, std::optional<std::string>*>;

// Which values an option accepts.
struct Validator {
  std::function<std::string(const std::string& value)> problem;  // what is wrong with the value; empty: nothing
  std::string shown;                                             // in the help, after the type; may be empty
};

// Numbers from `least` to `most`.
Validator Range(int least, int most);
Validator Range(uint64_t least, uint64_t most);
Validator Range(double least, double most);
Validator NotNegative();
Validator OneOf(std::vector<std::string> words);
Validator ExistingFile();

// One option of a command, to be declared further: each function returns the option itself.
class Option {
 public:
  Option& Required();
  Option& Check(const Validator& validator);
  // The variable of the environment that gives the value where the command line does not.
  Option& Environment(const std::string& variable);
  // The help shows the value that the variable has now.
  Option& ShowDefault();
  // What the help calls the value ("FILE"), instead of its type.
  Option& Placeholder(const std::string& name);
  // One argument may hold several values.
  Option& SeparatedBy(char separator);

 private:
  friend class Command;
  explicit Option(CLI::Option* option) : option_(option) {}
  CLI::Option* option_;  // of the command
};

// Why a program has nothing left to do.
struct Stop {
  int status = 0;    // 0 after --help and --version; after a mistake above 100, by its kind
  std::string text;  // to be printed: the answer, or what is wrong
};

// A program's command line, or a subcommand of it.
class Command {
 public:
  Command(const std::string& name, const std::string& description);
  Command(Command&&) = default;

  // Names as in "-o,--output"; without dashes the option is positional.
  Option AddOption(const std::string& names, Target target, const std::string& help);
  // True if given; named as in "!--no-output", false if given.
  void AddFlag(const std::string& names, bool* target, const std::string& help);
  // A subcommand; at most one can be given. The reference stays valid as long as this command.
  Command& AddCommand(const std::string& name, const std::string& description);
  // Options of which exactly one must be given; the help shows them together.
  Command& AddChoice(const std::string& name, const std::string& description);

  void RequireCommand();
  // What follows the first positional belongs to the positionals, dashes or not.
  void PositionalsEndOptions();
  // Answers `names` with `text`.
  void Version(const std::string& text, const std::string& names = "--version");
  // Below the options in the help.
  void Footer(const std::string& text);
  // The width of the help's left column, also of the subcommands that are added from here on.
  void HelpColumn(int width);
  // Words a mistake from the command it was made in ("tutti limit") and what is wrong, in place of the usual text.
  void OnMistake(std::function<std::string(const std::string& command, const std::string& problem)> words);
  // What the command does: returns the program's exit status.
  void Do(std::function<int()> action);

  // Parses the arguments (without the program's name) and prints nothing. Nothing: the variables are set.
  std::optional<Stop> Read(const std::vector<std::string>& arguments);
  // The same for main, and prints the text, a mistake's on stderr. Returns Stop::status.
  std::optional<int> Parse(int argc, char** argv);
  // After Parse: does what the innermost given command does, or the nearest one around it that does something; 0 if
  // none does.
  int Run() const;

  const std::string& name() const { return name_; }
  const std::list<Command>& commands() const { return commands_; }
  std::vector<std::string> OptionNames() const;  // the long ones: "--help", ...

 private:
  Command(std::string name, std::shared_ptr<CLI::App> app) : name_(std::move(name)), app_(std::move(app)) {}
  const Command* Given() const;  // the subcommand that was given, or null

  std::string name_;
  std::shared_ptr<CLI::App> app_;
  std::list<Command> commands_;
  std::list<Command> choices_;
  std::function<int()> action_;
  bool command_required_ = false;
};

}  // namespace tutti::command_line
