// Claims of containers (daemon/access/claim.h).
#include "daemon/access/claim.h"

#include <fmt/format.h>

#include "daemon/commands/access.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {
namespace {

void Refuse(const CommandCall& call, const std::string& why) {
  call.reply.Finish({.text = why + "\n", .exit_status = 1});
}

// Whether every device that the claim names, directly or in a limit, is one of these.
Status CheckDevices(const daemon::Claim& claim, const Devices& devices) {
  for (const std::string& device : claim.devices) TUTTI_TRY(FindDevice(devices, device));
  for (const auto& [device, bytes] : claim.memory_limits.entries()) TUTTI_TRY(FindDevice(devices, device));
  return {};
}

void Add(const CommandCall& call) {
  auto claim = ReadClaim({call.words.begin() + 2, call.words.end()});
  if (!claim) return Refuse(call, claim.error().text);
  call.context.inventory.Ask([call, claim = std::move(*claim)](const Result<Devices>& devices) {
    if (!devices) return Refuse(call, devices.error().text);
    if (const auto checked = CheckDevices(claim, *devices); !checked) return Refuse(call, checked.error().text);
    const auto directory = call.context.claim_registry.Add(claim);
    if (!directory) return Refuse(call, directory.error().text);
    call.reply.Line(*directory);
  });
}

void Remove(const CommandCall& call) {
  const std::string name(call.word(2));
  if (call.context.claims.Find(name) == nullptr) return Refuse(call, fmt::format("there is no claim \"{}\"", name));
  call.context.claim_registry.Remove(name);
  call.reply.Nothing();
}

void Require(const CommandCall& call) {
  const std::string_view word = call.word(2);
  if (word != "on" && word != "off") return Refuse(call, "claim require on, or claim require off");
  call.context.claims.Require(word == "on");
  call.reply.Nothing();
}

void List(const CommandCall& call) {
  std::string text;
  for (const auto& [name, claim] : call.context.claims.all()) text += claim.Words() + "\n";
  if (call.context.claims.required()) text += "claim require on\n";
  call.reply.Text(std::move(text));
}

}  // namespace

void Claim(const CommandCall& call) {
  if (!RequirePrivilege(call)) return;
  if (call.word(1) == "add") return Add(call);
  if (call.word(1) == "rm") return Remove(call);
  if (call.word(1) == "require") return Require(call);
  if (call.word(1) == "list") return List(call);
  Refuse(call, "claim add, rm, require or list: see `help claim`");
}

}  // namespace tutti::daemon::commands
