// fmt's functions, compiled once for all: with its own library, libfmt.so, the client library would depend on more than
// libc, and with FMT_HEADER_ONLY every source compiles all of them, which is more than half of a cold build.
//
// FMT_FUNC is left empty by fmt's headers unless they are header-only; so here the definitions get their names.
#include <fmt/format-inl.h>

// What fmt's headers declare `extern template` or use without a definition at hand.
FMT_BEGIN_NAMESPACE
namespace detail {
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template locale_ref::locale_ref(const std::locale&);
template std::locale locale_ref::get<std::locale>() const;
}  // namespace detail
FMT_END_NAMESPACE
