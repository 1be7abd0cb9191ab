#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/subcommands.h"
#include "cli/values.h"

namespace tutti::cli {
namespace {

// The names come from the command line's own definition, so a new subcommand or option needs nothing here.
std::string Words(const CLI::App& app) {
  std::string words;
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return !o->get_lnames().empty(); })) {
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
  }
  return words;
}

std::string Script(const CLI::App& app) {
  std::string names, cases;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names += command->get_name() + " ";
    cases += "    " + command->get_name() + ") words=\"" + Words(*command) + "\" ;;\n";
  }
  return "# bash completion of tutti: source <(tutti completion bash)\n"
         "_tutti() {\n"
         "  local words=\"\" word=\"${COMP_WORDS[COMP_CWORD]}\"\n"
         "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         names + Words(app) +
         "\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case \"${COMP_WORDS[1]}\" in\n" +
         cases +
         "  esac\n"
         "  if [[ \"$word\" == -* ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$word\")); else "
         "COMPREPLY=($(compgen -f -- \"$word\")); fi\n"
         "}\n"
         "complete -o filenames -F _tutti tutti\n";
}

}  // namespace

void AddCompletion(CLI::App& app, int& status) {
  auto* const command = app.add_subcommand("completion", "Print a completion script: source <(tutti completion bash)");
  const auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "The shell that needs the script")->required()->check(OneOf({"bash"}));
  command->callback([&app, shell, &status] {
    std::fputs(Script(app).c_str(), stdout);
    status = 0;
  });
}

}  // namespace tutti::cli
