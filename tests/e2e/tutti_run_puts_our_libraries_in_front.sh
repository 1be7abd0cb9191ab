. "$(dirname "$0")/lib.sh"
skip_with_sanitizer "programs have no sanitizer in them"
use_programs
program=$fakes/loads_a_library
[ -x "$program" ] && [ -x "$bin/tutti" ] || skip "needs tutti"
ours=$(readlink -f "$LD_LIBRARY_PATH")/libraries
[ -e "$ours/libcublas.so.13" ] || skip "needs libcublas.so.13"

# loaded HOW LIBRARY: the file that the program got, or why it got none
loaded() { $1 "$program" "$2" 2> /dev/null || true; }
mkdir -p "$work/vendors"
vendors=$work/vendors/libcublas.so.13
cp "$fakes/fake_code_makers/libnvrtc.so.99" "$vendors"
cp "$vendors" "$work/vendors/libcusomething.so.13"
expect "by absolute path, started alone" "$vendors" "$(loaded "" "$vendors")"
expect "by absolute path, started by tutti run" "$ours/libcublas.so.13" "$(loaded "$bin/tutti run --" "$vendors")"
expect "another library" "$work/vendors/libcusomething.so.13" "$(loaded "$bin/tutti run --" "$work/vendors/libcusomething.so.13")"
expect "by name" "$ours/libcublas.so.13" "$(LD_LIBRARY_PATH=$work/vendors loaded "$bin/tutti run --" libcublas.so.13)"
expect "with PTX not asked for" "$ours/libcublas.so.13" "$(TUTTI_KEEP_PTX=0 loaded "$bin/tutti run --" "$vendors")"
expect "the vendor's, by an option" "$vendors" "$(loaded "$bin/tutti run --libraries=vendors --" "$vendors")"
expect "the vendor's, by the environment" "$vendors" "$(TUTTI_LIBRARIES=vendors loaded "$bin/tutti run --" "$vendors")"
expect "the vendor's, in a tutti run within another" "$vendors" "$(loaded "$bin/tutti run -- $bin/tutti run --libraries=vendors --" "$vendors")"
expect "and by name" "$vendors" "$(LD_LIBRARY_PATH=$work/vendors loaded "$bin/tutti run -- $bin/tutti run --libraries=vendors --" libcublas.so.13)"
expect_in "a word that is none" "TUTTI_LIBRARIES" "$(TUTTI_LIBRARIES=theirs "$bin/tutti" run -- true 2>&1 || true)"
