/* Which commands are compilers, and the word in which they differ. */
#include "view/compiler_command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void each_compiler_has_its_source_file(void **state)
{
    static const struct {
        const char *command, *word;
        enum compiler_kind kind;
        bool is_source;
    } cases[] = {
        {"/usr/lib/gcc/x86_64-linux-gnu/12/cc1 -quiet -I a.c.d -imultiarch x86_64-linux-gnu -MF x.d -D N=b.c "
         "src/a.c -quiet -dumpbase b.c -dumpbase-ext .c -mtune=generic -O2 -o /tmp/ccq.s",
         "src/a.c", COMPILER_PROPER, true},
        {"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus -quiet -include base.cc 'my table.cc'", "'my table.cc'",
         COMPILER_PROPER, true},
        {"/usr/lib/llvm-19/bin/clang -cc1 -triple x86_64 -main-file-name a.c -o a.o -x c ../src/a.c",
         "../src/a.c", COMPILER_PROPER, true},
        {"/usr/lib/gcc/x86_64-linux-gnu/12/cc1 -quiet -MD src/x.p/a.c.d -MF src/x.p/a.c.o.d -MQ "
         "src/x.p/a.c.o "
         "../../src/a.c -quiet -o /tmp/ccq.s",
         "../../src/a.c", COMPILER_PROPER, true},
        {"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus -quiet -MMD lib/a.d -MP -MT x a.cc -o /tmp/ccq.s", "a.cc",
         COMPILER_PROPER, true},
        {"/usr/lib/gcc/x86_64-linux-gnu/12/cc1 -E -quiet -MM -MF a.d a.c", "a.c", COMPILER_PROPER, true},
        {"/usr/lib/gcc/x86_64-linux-gnu/12/cc1 -E -quiet -M a.c", "a.c", COMPILER_PROPER, true},
        {"/usr/lib/llvm-14/bin/clang -cc1 -dependency-file a.d -MT a.o -sys-header-deps -x c a.c", "a.c",
         COMPILER_PROPER, true},
        {"/usr/lib/llvm-14/bin/clang -cc1as -triple x86_64 -main-file-name a.c -o a.o a.s", "a.o",
         COMPILER_HELPER, false},
        {"gcc -MD a.c -c", "a.c", COMPILER_DRIVER, true},
        {"clang -MMD a.c -c", "a.c", COMPILER_DRIVER, true},
        {"/usr/lib/gcc/x86_64-linux-gnu/12/lto1 -quiet -dumpbase ./prog.wpa -fwpa=2 @/tmp/ccoaBt3W",
         "./prog.wpa", COMPILER_PROPER, true},
        {"/usr/lib/gcc/x86_64-linux-gnu/12/lto1 -quiet -dumpbase ./prog.ltrans0.ltrans -fltrans "
         "/tmp/ccN.ltrans0.o -o /tmp/ccp.s",
         "./prog.ltrans0.ltrans", COMPILER_PROPER, true},
        {"clang-19 -c -o a.o a.c", "a.c", COMPILER_DRIVER, true},
        {"x86_64-linux-gnu-g++-12 -O2 -MT a.cpp -o a.o -c lib/a.cpp", "lib/a.cpp", COMPILER_DRIVER, true},
        {"gcc a.o b.o -o prog", "prog", COMPILER_DRIVER, false},
        {"gcc @options", "@options", COMPILER_DRIVER, false},
        {"gcc --version", NULL, COMPILER_DRIVER, false},
        {"cc", NULL, COMPILER_DRIVER, false},
        {"rustc --crate-name log --edition=2021 /c/log-0.4/src/lib.rs --crate-type lib -C opt-level=3",
         "/c/log-0.4/src/lib.rs", COMPILER_PROPER, true},
        {"javac -d out -cp lib.jar src/A.java src/B.java", "src/A.java", COMPILER_PROPER, true},
        {"/usr/lib/go-1.19/pkg/tool/linux_amd64/compile -o x.a -p net/http -pack ./client.go ./server.go",
         "net/http", COMPILER_PROPER, true},
        {"/usr/lib/go-1.19/pkg/tool/linux_amd64/compile -o x.a -p main -pack ./hello.go", "./hello.go",
         COMPILER_PROPER, true},
        {"/usr/lib/go-1.19/pkg/tool/linux_amd64/link -o /tmp/hello -buildmode=exe x.a", "/tmp/hello",
         COMPILER_LINKER, false},
        {"/usr/bin/ld -plugin lto.so -o prog a.o main.c", "prog", COMPILER_LINKER, false},
        {"ld.lld-19 -o prog a.o", "prog", COMPILER_LINKER, false},
        {"as --64 -o build/a.o /tmp/ccq.s", "build/a.o", COMPILER_HELPER, false},
        {"/usr/lib/gcc/x86_64-linux-gnu/12/collect2 -o prog a.o", "prog", COMPILER_HELPER, false},
        {"aarch64-linux-gnu-as a.s", "a.s", COMPILER_HELPER, true},
        {"'/opt/my tools/gcc' -c a.c", "a.c", COMPILER_DRIVER, true},
        {"gcc -c 'it'\\''s.c'", "'it'\\''s.c'", COMPILER_DRIVER, true},
        {"gcc -c .c -o", NULL, COMPILER_DRIVER, false},
        {"make compile a.c", NULL, COMPILER_NONE, false},
        {"run-as a.c", NULL, COMPILER_NONE, false},
        {"/home/ada/bin/link a.c", NULL, COMPILER_NONE, false},
        {"/home/ada/bin/compile -p x a.go", NULL, COMPILER_NONE, false},
        {"ccache gcc -c a.c", NULL, COMPILER_NONE, false},
        {"python3 gcc.py a.c", NULL, COMPILER_NONE, false},
        {"'", NULL, COMPILER_NONE, false},
        {"", NULL, COMPILER_NONE, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct compiler_command command =
            compiler_command_parse(cases[i].command, strlen(cases[i].command));
        const size_t length = cases[i].word ? strlen(cases[i].word) : 0;

        if (command.kind != cases[i].kind || command.is_source != cases[i].is_source ||
            !command.word != !cases[i].word || command.length != length ||
            (length && memcmp(command.word, cases[i].word, length) != 0))
            fail_msg("%s: kind %d, word '%.*s', source %d", cases[i].command, (int)command.kind,
                     (int)command.length, command.word ? command.word : "", command.is_source);
    }
}

static void only_the_given_bytes_are_read(void **state)
{
    (void)state;
    static const char text[] = "gcc -c a.c b.c";
    const struct compiler_command command = compiler_command_parse(text, strlen("gcc -c a."));

    assert_int_equal(command.kind, COMPILER_DRIVER);
    assert_null(command.word);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_compiler_has_its_source_file),
        cmocka_unit_test(only_the_given_bytes_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
