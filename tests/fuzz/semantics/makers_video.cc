// Video instructions, with their selectors.
#include "forms.h"
#include "makers.h"
#include "text.h"

namespace semantics {
namespace {

constexpr const char* kTypes[] = {"u32", "s32"};
constexpr const char* kParts[] = {"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
constexpr const char* kComparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};

}  // namespace

Statement Maker::Video() {
  static constexpr const char* kOperations[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"};
  static constexpr const char* kSecond[] = {".add", ".min", ".max"};
  const std::string operation = random_.From(kOperations);
  const bool shifts = operation == "vshl" || operation == "vshr", sets = operation == "vset", merges = random_.OneIn(3),
             second = !merges && operation != "vshl" && random_.OneIn(2);
  std::string name = operation;
  if (!sets) name += std::string(".") + random_.From(kTypes);
  name += std::string(".") + random_.From(kTypes) + "." + (shifts ? "u32" : random_.From(kTypes));
  if (sets)
    name += std::string(".") + random_.From(kComparisons);
  else if (random_.OneIn(2))
    name += ".sat";
  if (shifts) name += random_.OneIn(2) ? ".clamp" : ".wrap";
  if (second) name += random_.From(kSecond);
  // With a second operation the first stays within 32 bits: what becomes of more is not said. A shift left does not.
  const bool narrow = second || operation == "vshl";
  const auto part = [&] { return std::string(kParts[narrow ? 1 + random_.Below(6) : random_.Below(7)]); };
  Statement statement{.form = name};
  const std::string at = Out(statement);
  statement.text = Fill(
      "{\n.reg .b32 d, a, b;\nmov.b32 d, 0;\nld.global.b32 a, $6;\nld.global.b32 b, $7;\n$0 d$1, a$2, "
      "b$3$4;\nst.global.b32 $5, d;\n}\n",
      {name, merges ? kParts[1 + random_.Below(6)] : "", part(), part(), merges || second ? ", " + X() : "", at,
       Input(random_, Kind::kInteger, 4), Input(random_, Kind::kInteger, 4)});
  return statement;
}

Statement Maker::VideoMultiplyAdd() {
  const bool po = random_.OneIn(3);
  const std::string a = random_.From(kTypes), b = random_.From(kTypes);
  const uint32_t sign = po ? 0 : random_.Below(3);  // none, of a factor, of the summand
  const bool is_signed = a == "s32" || b == "s32" || sign != 0;
  static constexpr const char* kScales[] = {"", ".shr7", ".shr15"};
  const std::string name = std::string("vmad.") + (is_signed ? "s32" : "u32") + "." + a + "." + b + (po ? ".po" : "") +
                           (random_.OneIn(2) ? ".sat" : "") + random_.From(kScales);
  Statement statement{.form = name};
  const std::string at = Out(statement);
  statement.text = Fill("{\n.reg .b32 d;\n$0 d, $1$2, $3$4, $5$6;\nst.global.b32 $7, d;\n}\n",
                        {name, (sign == 1 ? "-" : "") + X(), random_.From(kParts), X(), random_.From(kParts),
                         sign == 2 ? "-" : "", X(), at});
  return statement;
}

Statement Maker::VideoPacked() {
  static constexpr const char* kOperations[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset"};
  const bool quad = random_.OneIn(2), add = random_.OneIn(3);
  const std::string operation = random_.From(kOperations);
  const bool sets = operation == "vset";
  std::string name = operation + (quad ? "4" : "2");
  if (!sets) name += std::string(".") + random_.From(kTypes);
  name += std::string(".") + random_.From(kTypes) + "." + random_.From(kTypes);
  if (sets) name += std::string(".") + random_.From(kComparisons);
  if (!sets && !add && random_.OneIn(2)) name += ".sat";
  if (add) name += ".add";
  const auto selector = [&]() -> std::string {
    if (random_.OneIn(3)) return "";
    std::string text = quad ? ".b" : ".h";
    for (uint32_t i = 0; i < (quad ? 4 : 2); ++i) text += std::to_string(random_.Below(quad ? 8 : 4));
    return text;
  };
  static constexpr const char* kPairMasks[] = {"", ".h0", ".h1", ".h10"};
  static constexpr const char* kQuadMasks[] = {"",    ".b0",  ".b1",  ".b10",  ".b2",  ".b20",  ".b21",  ".b210",
                                               ".b3", ".b30", ".b31", ".b310", ".b32", ".b320", ".b321", ".b3210"};
  Statement statement{.form = name};
  const std::string at = Out(statement);
  statement.text = Fill(
      "{\n.reg .b32 d, a, b;\nmov.b32 d, 0;\nld.global.b32 a, $6;\nld.global.b32 b, $7;\n$0 d$1, a$2, b$3, "
      "$4;\nst.global.b32 $5, d;\n}\n",
      {name, quad ? random_.From(kQuadMasks) : random_.From(kPairMasks), selector(), selector(), X(), at,
       Input(random_, Kind::kInteger, 4), Input(random_, Kind::kInteger, 4)});
  return statement;
}

}  // namespace semantics
