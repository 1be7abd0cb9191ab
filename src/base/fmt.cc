// fmt's functions, compiled once for the project. Linking libfmt.so would make the client library depend on more than
// libc; with FMT_HEADER_ONLY every source would compile all of them, which is more than half of a cold build.
//
// fmt's headers leave FMT_FUNC empty unless they are header-only, so the definitions below get external linkage.
#include <fmt/format-inl.h>

// The definitions behind fmt's `extern template` declarations and out-of-line functions.
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
