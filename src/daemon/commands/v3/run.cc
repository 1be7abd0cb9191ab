#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

#include "base/nearest.h"
#include "daemon/commands/commands.h"
#include "daemon/commands/v3/verb.h"

namespace tutti::daemon::v3 {
namespace {

constexpr const char* kFormat = "format";

std::string Usage(const Module& module, const Verb& verb) {
  std::string text =
      fmt::format("{} {}{}{}", module.name, verb.name, verb.positionals.empty() ? "" : " ", verb.positionals);
  for (const OptionRule& rule : verb.options) {
    const std::string form =
        rule.value.empty() ? fmt::format("--{}", rule.key) : fmt::format("--{}={}", rule.key, rule.value);
    text += rule.required ? " " + form : " [" + form + "]";
  }
  return text;
}

std::string HelpOf(const Module& module) {
  std::string text = fmt::format("{}: {}\n", module.name, module.summary);
  for (const Verb& verb : module.verbs)
    fmt::format_to(std::back_inserter(text), "{}\n    {}\n", Usage(module, verb), verb.summary);
  return text;
}

std::string HelpOfAll() {
  std::string text;
  for (const Module* module : Modules()) {
    for (const Verb& verb : module->verbs) {
      fmt::format_to(std::back_inserter(text), "{:<56}  {}\n",
                     fmt::format("{} {} {}", module->name, verb.name, verb.positionals), verb.summary);
    }
  }
  return text + "Options of each: <module> help, <module> <verb> help.\n" + commands::HelpOfEveryProtocol();
}

template <typename List, typename Name>
std::vector<std::string> Names(const List& list, Name name) {
  std::vector<std::string> names;
  for (const auto& entry : list) names.emplace_back(std::invoke(name, entry));
  return names;
}

std::string Hint(std::string_view word, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(word, known);
  return nearest.empty() ? fmt::format("give one of {}", fmt::join(known, ", "))
                         : fmt::format("did you mean {}?", nearest);
}

size_t CountAtMost(std::string_view positionals) { return static_cast<size_t>(std::ranges::count(positionals, '<')); }
size_t CountAtLeast(std::string_view positionals) {
  return CountAtMost(positionals) - static_cast<size_t>(std::ranges::count(positionals, '['));
}

Status TakeOption(std::string_view word, const Verb& verb, Request& request) {
  if (word.starts_with("--")) word.remove_prefix(2);
  const size_t equals = std::min(word.find('='), word.size());
  const std::string key(word.substr(0, equals));
  const auto rule = std::ranges::find(verb.options, key, &OptionRule::key);
  if (rule == verb.options.end()) {
    const auto known = Names(verb.options, [](const OptionRule& one) { return std::string(one.key); });
    if (known.empty()) return Fail(fmt::format("option \"{}\" is unknown: {} takes none", key, verb.name));
    return Fail(fmt::format("option \"{}\" is unknown: {}", key, Hint(key, known)));
  }
  if (rule->value.empty() && equals != word.size()) return Fail(fmt::format("option --{} takes no value", key));
  if (!rule->value.empty() && equals == word.size())
    return Fail(fmt::format("option --{} needs a value: --{}={}", key, key, rule->value));
  if (!request.options.emplace(key, word.substr(std::min(equals + 1, word.size()))).second) {
    return Fail(fmt::format("option --{} is given twice", key));
  }
  return {};
}

// Parses the words after module and verb, so that a verb only has to interpret values.
Status Fill(const Module& module, const Verb& verb, Request& request) {
  for (size_t i = 2; i < request.call.words.size(); ++i) {
    const std::string& word = request.call.words[i];
    if (word.starts_with("--") || word.find('=') != std::string::npos) {
      TUTTI_TRY(TakeOption(word, verb, request));
    } else {
      request.positionals.push_back(word);
    }
  }
  const size_t given = request.positionals.size();
  if (given < CountAtLeast(verb.positionals) || given > CountAtMost(verb.positionals)) {
    const size_t wanted =
        given < CountAtLeast(verb.positionals) ? CountAtLeast(verb.positionals) : CountAtMost(verb.positionals);
    return Fail(fmt::format("{} name{} given, {} needed: {}", given, given == 1 ? " is" : "s are", wanted,
                            Usage(module, verb)));
  }
  for (const OptionRule& rule : verb.options) {
    if (rule.required && !request.flag(rule.key))
      return Fail(fmt::format("option --{} is missing: {}", rule.key, Usage(module, verb)));
  }
  if (const std::string* format = request.option(kFormat)) {
    TUTTI_ASSIGN(request.format, control::ParseOutputFormat(*format));
  }
  return {};
}

void RunVerb(const Module& module, const Verb& verb, const CommandCall& call) {
  if (call.word(2) == "help" && call.words.size() == 3) {
    return call.reply.Text(fmt::format("{}\n    {}\n", Usage(module, verb), verb.summary));
  }
  Request request{.call = call};
  if (const auto filled = Fill(module, verb, request); !filled) return request.Refuse(filled.error().text);
  verb.run(request);
}

void Refuse(const CommandCall& call, std::string why) {
  call.reply.Finish({.text = std::move(why) + "\n", .exit_status = 1});
}

}  // namespace

std::span<const Module* const> Modules() {
  static const std::array<const Module*, 8> modules{&ServerModule(),  &NamespaceModule(),   &ClientModule(),
                                                    &DeviceModule(),  &SmPartitionModule(), &FeatureModule(),
                                                    &MemacctModule(), &ContextShareModule()};
  return modules;
}

void Run(const CommandCall& call) {
  if (call.word(0) == "help") return call.reply.Text(HelpOfAll());
  const auto module = std::ranges::find(Modules(), call.word(0), [](const Module* one) { return one->name; });
  if (module == Modules().end()) {
    return Refuse(call, fmt::format("\"{}\" is not a module of protocol 3, which this daemon speaks: {}", call.word(0),
                                    Hint(call.word(0), Names(Modules(), [](const Module* one) { return one->name; }))));
  }
  if (call.word(1) == "help" || (*module)->verbs.empty()) return call.reply.Text(HelpOf(**module));
  const auto verb = std::ranges::find((*module)->verbs, call.word(1), &Verb::name);
  if (verb == (*module)->verbs.end()) {
    return Refuse(call, fmt::format("{} \"{}\" is unknown: {}", (*module)->name, call.word(1),
                                    Hint(call.word(1), Names((*module)->verbs, &Verb::name))));
  }
  RunVerb(**module, *verb, call);
}

}  // namespace tutti::daemon::v3
