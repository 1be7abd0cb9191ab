// Values are in row-major order; each pair of inner braces starts at the next element of its dimension, and omitted
// values are zero.
//
// Addresses come in three forms: `symbol`, `generic(symbol)`, both with an optional "+ 8", and one byte at a time as
// `0xff(symbol), 0xff00(symbol), ...`, which compilers use inside packed structures. The latter are reassembled here:
// eight consecutive bytes of one symbol are one address.
#include "ptx/parse_initializer.h"

#include <fmt/format.h>

#include <bit>

#include "base/checked.h"
#include "ptx/constant_expression.h"

namespace tutti::ptx {
namespace {

constexpr int kMaxBraces = 16;
constexpr uint64_t kAddressBytes = 8;

uint16_t HalfFromFloat(float value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }

class InitializerParser {
 public:
  InitializerParser(ParseContext& context, TokenStream& tokens, const DeclaredShape& shape,
                    std::vector<uint64_t>& dimensions, Initializer* init)
      : context_(context), tokens_(tokens), type_(shape.type), dimensions_(dimensions), init_(init) {
    scalar_bytes_ = (BitsOf(type_) + 7) / 8;
    if (shape.vector > 1) dimensions_.push_back(shape.vector);  // a vector is one more dimension of scalars
    is_vector_ = shape.vector > 1;
  }

  bool Parse() {
    if (scalar_bytes_ == 0) return SkipReferenceSettings();
    const bool parsed = tokens_.At('{') ? List(0, 0, 0) : Value(0);
    if (is_vector_) dimensions_.pop_back();
    return parsed && FinishMaskedAddress();
  }

 private:
  // A texture or surface reference is initialised with settings by name; their defaults come from the host.
  bool SkipReferenceSettings() {
    while (!tokens_.At(';') && tokens_.current().kind != TokenKind::kEnd) tokens_.Advance();
    return true;
  }

  // Scalars in one element of dimension `level`.
  uint64_t Stride(size_t level) const {
    uint64_t stride = 1;
    for (size_t i = level + 1; i < dimensions_.size(); ++i) stride *= dimensions_[i];
    return stride;
  }

  // `start`: index of the first scalar of this list.
  bool List(size_t level, uint64_t start, int depth) {
    const SourcePosition position = tokens_.Take().position;
    if (depth >= kMaxBraces) return context_.Fail(position, "too many braces");
    const bool open = level < dimensions_.size() && dimensions_[level] == 0;
    const uint64_t limit = level < dimensions_.size() ? dimensions_[level] * Stride(level) : 1;
    uint64_t at = 0;  // relative to start
    while (!tokens_.At('}')) {
      const SourcePosition here = tokens_.current().position;
      if (!open && at >= limit) return context_.Fail(here, "more values than the variable has elements");
      if (tokens_.At('{')) {
        const uint64_t stride = level < dimensions_.size() ? Stride(level) : 1;
        if (stride == 0) return context_.Fail(here, "an array of nothing has no values");
        at = (at + stride - 1) / stride * stride;
        if (!open && at >= limit) return context_.Fail(here, "more values than the variable has elements");
        if (!List(level + 1, start + at, depth + 1)) return false;
        at += stride;
      } else {
        if (!Value(start + at)) return false;
        ++at;
      }
      if (!tokens_.Accept(',')) break;
    }
    if (!Expect(context_, tokens_, '}', "after initial values")) return false;
    if (open) {
      const uint64_t stride = Stride(level);
      dimensions_[level] = stride == 0 ? 0 : (at + stride - 1) / stride;
    }
    return true;
  }

  bool Value(uint64_t scalar) {
    const Token token = tokens_.current();
    const auto offset = CheckedMul(scalar, uint64_t{scalar_bytes_});
    if (!offset || *offset > (1ull << 46)) return context_.Fail(token.position, "this array is too large");
    if (token.kind == TokenKind::kWord && token.text != "WARP_SZ") return Address(*offset, token);
    const auto constant = ParseConstant(context_, tokens_);
    if (!constant) return false;
    if (tokens_.At('(')) return MaskedAddress(*offset, *constant, token);
    return FinishMaskedAddress() && Number(*offset, *constant, token);
  }

  bool Room(uint64_t end, const Token& token) {
    if (end <= init_->bytes.size()) return true;
    if (!context_.SpendInitializerBytes(end - init_->bytes.size())) {
      return context_.Fail(token.position, "too many bytes of initial values");
    }
    init_->bytes.resize(end);
    return true;
  }

  bool Number(uint64_t offset, const Constant& constant, const Token& token) {
    const bool takes_floats = IsFloat(type_) || type_ == Type::kB32 || type_ == Type::kB64;
    if (constant.is_float && !takes_floats)
      return context_.Fail(token.position, "a floating-point value for an integer variable");
    if (!constant.is_float && (type_ == Type::kF32 || type_ == Type::kF64))
      return context_.Fail(token.position, "an integer for a floating-point variable");
    uint64_t bits = constant.bits;
    if (constant.is_float) {
      const double value =
          constant.is_f32 ? std::bit_cast<float>(static_cast<uint32_t>(bits)) : std::bit_cast<double>(bits);
      if (type_ == Type::kF64)
        bits = std::bit_cast<uint64_t>(value);
      else if ((type_ == Type::kF32 || type_ == Type::kB32) && !constant.is_f32)
        bits = std::bit_cast<uint32_t>(static_cast<float>(value));
      else if (type_ == Type::kF16)
        bits = HalfFromFloat(static_cast<float>(value));
      else if (IsFloat(type_) && type_ != Type::kF32)
        return context_.Fail(token.position, "this type takes its bits as an integer");
    }
    if (!Room(offset + scalar_bytes_, token)) return false;
    for (uint32_t i = 0; i < scalar_bytes_ && i < 8; ++i)
      init_->bytes[offset + i] = static_cast<uint8_t>(bits >> (8 * i));
    return true;
  }

  bool Addend(Initializer::AddressOf* address) {
    if (!tokens_.At('+') && !tokens_.At('-')) return true;
    const auto addend = ParseConstant(context_, tokens_);
    if (!addend) return false;
    address->addend += static_cast<int64_t>(addend->bits);
    return true;
  }

  // "symbol", "symbol + 8", "generic(symbol) + 8".
  bool AddressExpression(Initializer::AddressOf* address) {
    if (tokens_.current().text == "generic" && tokens_.next().Is('(')) {
      tokens_.Advance();
      tokens_.Advance();
      address->generic = true;
    }
    const auto name = ParseName(context_, tokens_, "the name of a variable or function");
    if (!name) return false;
    const auto symbol = context_.FindSymbol(name->text);
    if (!symbol) return context_.Fail(name->position, fmt::format("'{}' is not declared", name->text));
    address->symbol = *symbol;
    if (!Addend(address)) return false;
    if (!address->generic) return true;
    return Expect(context_, tokens_, ')', "after generic(symbol") && Addend(address);
  }

  bool Address(uint64_t offset, const Token& token) {
    if (!FinishMaskedAddress()) return false;
    if (scalar_bytes_ != kAddressBytes) return context_.Fail(token.position, "an address needs an element of 8 bytes");
    Initializer::AddressOf address{offset, 0, 0, false};
    return AddressExpression(&address) && Append(address, token);
  }

  bool Append(const Initializer::AddressOf& address, const Token& token) {
    if (!Room(address.offset + kAddressBytes, token)) return false;
    init_->addresses.push_back(address);
    return true;
  }

  // "0xff00(symbol)": byte 1 of its address.
  bool MaskedAddress(uint64_t offset, const Constant& mask, const Token& token) {
    tokens_.Advance();
    const uint32_t shift = mask.bits == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(mask.bits));
    if (scalar_bytes_ != 1 || mask.is_float || mask.bits != 0xffull << shift || shift % 8 != 0) {
      return context_.Fail(token.position, "a mask selects one byte of an address for an element of one byte");
    }
    Initializer::AddressOf address{offset, 0, 0, false};
    if (!AddressExpression(&address)) return false;
    if (!Expect(context_, tokens_, ')', "after a masked symbol")) return false;
    const uint32_t byte = shift / 8;
    if (byte == 0) {
      if (!FinishMaskedAddress()) return false;
      masked_ = address;
      masked_position_ = token.position;
    } else if (masked_bytes_ != byte || masked_.offset + byte != offset || masked_.symbol != address.symbol ||
               masked_.addend != address.addend || masked_.generic != address.generic) {
      return context_.Fail(token.position, "the bytes of an address must stand together and in order");
    }
    masked_bytes_ = byte + 1;
    if (masked_bytes_ < kAddressBytes) return true;
    masked_bytes_ = 0;
    return Append(masked_, token);
  }

  bool FinishMaskedAddress() {
    return masked_bytes_ == 0 || context_.Fail(masked_position_, "this address has fewer than 8 bytes");
  }

  ParseContext& context_;
  TokenStream& tokens_;
  Type type_;
  uint32_t scalar_bytes_ = 0;
  bool is_vector_ = false;
  std::vector<uint64_t>& dimensions_;
  Initializer* init_;
  Initializer::AddressOf masked_{};
  SourcePosition masked_position_;
  uint32_t masked_bytes_ = 0;  // seen so far
};

}  // namespace

bool ParseInitializer(ParseContext& context, TokenStream& tokens, const DeclaredShape& shape,
                      std::vector<uint64_t>* dimensions, Initializer* init) {
  return InitializerParser(context, tokens, shape, *dimensions, init).Parse();
}

}  // namespace tutti::ptx
