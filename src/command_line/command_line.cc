// CLI11 does the work. It is 9,000 lines of headers, whose templates cost the compiler 5 s in each source that includes
// them; so only this one does.
#include "command_line/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <sstream>

namespace tutti::command_line {
namespace {

Validator From(CLI::Validator validator) {
  std::string shown = validator.get_description();
  return {[validator = std::move(validator)](const std::string& value) { return validator(value); }, std::move(shown)};
}

}  // namespace

Validator Range(int least, int most) { return From(CLI::Range(least, most)); }
Validator Range(uint64_t least, uint64_t most) { return From(CLI::Range(least, most)); }
Validator Range(double least, double most) { return From(CLI::Range(least, most)); }
Validator NotNegative() { return From(CLI::NonNegativeNumber); }
Validator OneOf(std::vector<std::string> words) { return From(CLI::IsMember(std::move(words))); }
Validator ExistingFile() { return From(CLI::ExistingFile); }

Option& Option::Required() {
  option_->required();
  return *this;
}

Option& Option::Check(const Validator& validator) {
  option_->check(CLI::Validator(validator.problem, validator.shown));
  return *this;
}

Option& Option::Environment(const std::string& variable) {
  option_->envname(variable);
  return *this;
}

Option& Option::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

Option& Option::Placeholder(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::SeparatedBy(char separator) {
  option_->delimiter(separator);
  return *this;
}

Command::Command(const std::string& name, const std::string& description)
    : Command(name, std::make_shared<CLI::App>(description, name)) {}

Option Command::AddOption(const std::string& names, Target target, const std::string& help) {
  return Option(std::visit([&](auto* variable) { return app_->add_option(names, *variable, help); }, target));
}

void Command::AddFlag(const std::string& names, bool* target, const std::string& help) {
  app_->add_flag(names, *target, help);
}

Command& Command::AddCommand(const std::string& name, const std::string& description) {
  CLI::App* const added = app_->add_subcommand(name, description);
  app_->require_subcommand(command_required_ ? 1 : 0, 1);
  commands_.push_back(Command(name, app_->get_subcommand_ptr(added)));
  return commands_.back();
}

Command& Command::AddChoice(const std::string& name, const std::string& description) {
  CLI::App* const added = app_->add_option_group(name, description);
  added->require_option(1);
  choices_.push_back(Command(name, app_->get_subcommand_ptr(added)));
  return choices_.back();
}

void Command::RequireCommand() {
  command_required_ = true;
  app_->require_subcommand(1, 1);
}

void Command::PositionalsEndOptions() { app_->positionals_at_end(); }

void Command::Version(const std::string& text, const std::string& names) { app_->set_version_flag(names, text); }

void Command::Footer(const std::string& text) { app_->footer(text); }

void Command::HelpColumn(int width) { app_->get_formatter()->column_width(static_cast<size_t>(width)); }

void Command::OnMistake(std::function<std::string(const std::string& command, const std::string& problem)> words) {
  app_->failure_message([words = std::move(words)](const CLI::App* app, const CLI::Error& error) {
    std::string command = app->get_name();
    for (auto given = app->get_subcommands(); !given.empty(); given = given.front()->get_subcommands())
      command += " " + given.front()->get_name();
    return words(command, error.what());
  });
}

void Command::Do(std::function<int()> action) { action_ = std::move(action); }

std::optional<Stop> Command::Read(const std::vector<std::string>& arguments) {
  try {
    app_->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // it takes them from the end
  } catch (const CLI::ParseError& error) {
    std::ostringstream text;
    const int status = app_->exit(error, text, text);
    return Stop{status, text.str()};
  }
  return std::nullopt;
}

std::optional<int> Command::Parse(int argc, char** argv) {
  const auto stop = Read(argc > 1 ? std::vector<std::string>(argv + 1, argv + argc) : std::vector<std::string>());
  if (!stop) return std::nullopt;
  std::fputs(stop->text.c_str(), stop->status == 0 ? stdout : stderr);
  return stop->status;
}

const Command* Command::Given() const {
  for (const Command& command : commands_)
    if (command.app_->parsed()) return &command;
  return nullptr;
}

int Command::Run() const {
  const std::function<int()>* nearest = nullptr;
  for (const Command* command = this; command != nullptr; command = command->Given())
    if (command->action_) nearest = &command->action_;
  return nearest != nullptr ? (*nearest)() : 0;
}

std::vector<std::string> Command::OptionNames() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace tutti::command_line
