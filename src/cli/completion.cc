#include <cstdio>

#include "cli/subcommands.h"
#include "cli/values.h"

namespace tutti::cli {
namespace {

// The names come from the command line's own definition, so a new subcommand or option needs nothing here.
std::string Words(const Command& command) {
  std::string words;
  for (const std::string& name : command.OptionNames()) words += name + " ";
  return words;
}

std::string Script(const Command& tutti) {
  std::string names, cases;
  for (const Command& command : tutti.commands()) {
    names += command.name() + " ";
    cases += "    " + command.name() + ") words=\"" + Words(command) + "\" ;;\n";
  }
  return "# bash completion of tutti: source <(tutti completion bash)\n"
         "_tutti() {\n"
         "  local words=\"\" word=\"${COMP_WORDS[COMP_CWORD]}\"\n"
         "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         names + Words(tutti) +
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

void AddCompletion(Command& tutti) {
  Command& completion = tutti.AddCommand("completion", "Print a completion script: source <(tutti completion bash)");
  const auto shell = std::make_shared<std::string>();
  completion.AddOption("shell", shell.get(), "The shell that needs the script").Required().Check(OneOf({"bash"}));
  completion.Do([&tutti, shell] {
    std::fputs(Script(tutti).c_str(), stdout);
    return 0;
  });
}

}  // namespace tutti::cli
