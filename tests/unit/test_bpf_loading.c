/* Loading our programs, and that nothing is left behind; and what those learn who may not. */
#include "probe/bpf/programs.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <linux/bpf.h>

#include "another_user.h"
#include "bpf_fixture.h"
#include "probe/bpf/state.h"

/* The kernel's numbers of what is held: programs and links. */
struct held {
    uint32_t programs[HANDOVER_LINKS_MAX + 2], links[HANDOVER_LINKS_MAX + 2];
    size_t count;
};

static long bpf_call(int command, union bpf_attr *attributes)
{
    return syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

static void held_add(struct held *held, int link_fd)
{
    struct bpf_link_info info;
    union bpf_attr attributes;

    (void)memset(&attributes, 0, sizeof(attributes));
    (void)memset(&info, 0, sizeof(info));
    attributes.info.bpf_fd = (uint32_t)link_fd;
    attributes.info.info_len = sizeof(info);
    attributes.info.info = (uintptr_t)&info;
    if (bpf_call(BPF_OBJ_GET_INFO_BY_FD, &attributes) != 0)
        return;
    held->programs[held->count] = info.prog_id;
    held->links[held->count++] = info.id;
}

static void held_fill(struct held *held, const struct bpf_programs *programs)
{
    held->count = 0;
    for (size_t i = 0; i < programs->link_count; i++)
        held_add(held, programs->links[i]);
    held_add(held, programs->parts[HANDOVER_SEEDER]);
    held_add(held, programs->parts[HANDOVER_TASKS]);
}

static bool is_there(int command, uint32_t id)
{
    union bpf_attr attributes;

    (void)memset(&attributes, 0, sizeof(attributes));
    attributes.prog_id = id;
    long fd = bpf_call(command, &attributes);
    if (fd >= 0)
        (void)close((int)fd);
    return fd >= 0;
}

static size_t still_there(const struct held *held)
{
    size_t count = 0;

    for (size_t i = 0; i < held->count; i++)
        count += (size_t)is_there(BPF_PROG_GET_FD_BY_ID, held->programs[i]) +
                 (size_t)is_there(BPF_LINK_GET_FD_BY_ID, held->links[i]);
    return count;
}

/* The kernel frees them a moment after the last descriptor is closed. */
static void all_is_gone(const struct held *held)
{
    for (int waited_ms = 0; still_there(held) > 0 && waited_ms < PATIENCE_MS; waited_ms += 5)
        (void)usleep(5000);
    assert_int_equal(still_there(held), 0);
}

static void nothing_is_left_after_free(void **state)
{
    (void)state;
    needs_programs();
    struct bpf_programs *programs = programs_following_nobody();
    struct held held;

    held_fill(&held, programs);
    assert_true(held.count >= 8);
    assert_int_equal(still_there(&held), 2 * held.count);
    bpf_programs_free(programs);
    all_is_gone(&held);
}

static void load_and_wait(void)
{
    struct held *held = (struct held *)(void *)fixture.shared;

    held_fill(held, programs_following_nobody());
    for (;;)
        (void)pause();
}

static void nothing_is_left_after_a_sudden_death(void **state)
{
    (void)state;
    needs_programs();
    volatile struct held *held = (struct held *)(void *)fixture.shared;
    const pid_t child = child_start(load_and_wait);

    for (int waited_ms = 0; held->count < 8 && waited_ms < PATIENCE_MS; waited_ms += 5)
        (void)usleep(5000);
    assert_true(held->count >= 8);
    assert_int_equal(kill(child, SIGKILL), 0);
    (void)child_end(child);
    all_is_gone((const struct held *)(void *)fixture.shared);
}

static void answer_can_be_polled_for(void **state)
{
    (void)state;
    needs_programs();
    const struct bpf_start_options options = {.loader_path = METRON_BPF_LOADER};
    struct bpf_programs *programs = NULL;
    struct bpf_start start;
    int code, tries = 0;

    assert_int_equal(bpf_start(&start, &options, NULL), 0);
    assert_int_equal(bpf_start_finish(&start, false, &programs, NULL), -EAGAIN);
    while ((code = bpf_start_finish(&start, false, &programs, NULL)) == -EAGAIN && tries++ < PATIENCE_MS)
        (void)usleep(1000);
    assert_int_equal(code, 0);
    assert_int_equal(start.fd, -1);
    assert_int_equal(child_end(start.pid).status, 0);
    bpf_start_cancel(&start); /* nothing to do any more */
    bpf_programs_free(programs);
}

static void loading_can_be_given_up(void **state)
{
    (void)state;
    needs_programs();
    const struct bpf_start_options options = {.loader_path = METRON_BPF_LOADER};
    struct bpf_start start, none = {0};

    assert_int_equal(bpf_start(&start, &options, NULL), 0);
    bpf_start_cancel(&start);
    assert_int_equal(start.fd, -1);
    assert_int_equal(WTERMSIG(child_end(start.pid).status), SIGKILL);
    bpf_start_cancel(&none);
}

static void loader_that_fails_is_told(void **state)
{
    (void)state;
    needs_programs();
    const struct bpf_start_options options = {.loader_path = "/bin/true"};
    struct bpf_programs *programs = NULL;
    struct metron_error error = {0};
    struct bpf_start start;

    assert_int_equal(bpf_start(&start, &options, &error), 0);
    assert_int_equal(bpf_start_finish(&start, true, &programs, &error), -EPIPE);
    assert_non_null(strstr(error.message, "metron-bpf ended without an answer"));
    assert_null(programs);
    (void)child_end(start.pid);
}

static void become_ordinary_user(void)
{
    if (geteuid() == 0 && !become_another_user())
        _exit(99);
}

/* Any program will do as the loader: it is never started. */
static void start_as_ordinary_user(void)
{
    const struct bpf_start_options options = {.loader_path = "/bin/true"};
    struct metron_error error = {0};
    struct bpf_start start;

    become_ordinary_user();
    if (bpf_start(&start, &options, &error) != -ENOTSUP || start.pid != 0)
        _exit(1);
    (void)strcpy(fixture.shared, error.message);
}

static void ordinary_user_learns_the_way_out(void **state)
{
    (void)state;
    if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) {
        print_message("skip %s: no BTF\n", __func__);
        skip();
    }
    assert_int_equal(child_end(child_start(start_as_ordinary_user)).status, 0);
    assert_non_null(strstr(fixture.shared, "not permitted: run as root, or give metron the right once"));
    assert_non_null(strstr(fixture.shared, "setcap cap_bpf,cap_perfmon=ep"));
}

static void missing_loader_is_the_reason(void **state)
{
    (void)state;
    const struct bpf_start_options options = {.loader_path = "/nonexistent/metron-bpf"};
    struct metron_error error = {0};
    struct bpf_start start;

    assert_int_equal(bpf_start(&start, &options, &error), -ENOTSUP);
    assert_non_null(strstr(error.message, "metron-bpf is not installed"));
    /* Beside this test program there is none either. */
    if (access(METRON_LIBEXEC_DIR "/metron-bpf", F_OK) != 0)
        assert_string_equal(bpf_programs_why_not(), error.message);
}

static char folder[] = "/tmp/metron-loader-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void execute_copy_as_ordinary_user(void)
{
    become_ordinary_user();
    (void)execl(in_folder("copy"), "copy", "why not", (char *)NULL);
    _exit(98);
}

/* A copy of this program in a folder that has a loader too. */
static void loader_beside_the_program_is_found(void **state)
{
    (void)state;
    if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) {
        print_message("skip %s: no BTF\n", __func__);
        skip();
    }
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = open(in_folder("copy"), O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_true(from >= 0 && to >= 0);
    while (sendfile(to, from, NULL, 1 << 20) > 0)
        ;
    (void)close(from);
    (void)close(to);
    assert_int_equal(symlink("/bin/true", in_folder("metron-bpf")), 0);
    const int status = child_end(child_start(execute_copy_as_ordinary_user)).status;
    (void)unlink(in_folder("copy"));
    (void)unlink(in_folder("metron-bpf"));
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(status, 0);
}

/* In the copy: whether privilege is all that lacks. */
static int answer_why_not(void)
{
    const char *why = bpf_programs_why_not();

    return why && strncmp(why, "not permitted: run as root", 26) == 0 ? 0 : 1;
}

static void run_loader(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    FILE *said = popen(METRON_BPF_LOADER " 2>&1; echo $?; " METRON_BPF_LOADER " 1 0 2>&1; echo $?", "r");

    if (fd < 0 || !said || fread(fixture.shared, 1, 4000, said) == 0)
        _exit(99);
}

static void loader_by_hand_says_what_it_is(void **state)
{
    (void)state;
    static const char line[] =
        "metron-bpf: this is a part of metron, started by it; it has no use by hand\n2\n";
    char twice[2 * sizeof(line)];

    if (access(METRON_BPF_LOADER, X_OK) != 0) {
        print_message("skip %s: metron-bpf was not built\n", __func__);
        skip();
    }
    (void)snprintf(twice, sizeof(twice), "%s%s", line, line);
    assert_int_equal(child_end(child_start(run_loader)).status, 0);
    assert_string_equal(fixture.shared, twice);
}

static int setup(void **state)
{
    (void)state;
    return fixture_setup(false);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return answer_why_not();

    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_left_after_free, test_setup),
        cmocka_unit_test_setup(nothing_is_left_after_a_sudden_death, test_setup),
        cmocka_unit_test_setup(answer_can_be_polled_for, test_setup),
        cmocka_unit_test_setup(loading_can_be_given_up, test_setup),
        cmocka_unit_test_setup(loader_that_fails_is_told, test_setup),
        cmocka_unit_test_setup(ordinary_user_learns_the_way_out, test_setup),
        cmocka_unit_test_setup(missing_loader_is_the_reason, test_setup),
        cmocka_unit_test_setup(loader_beside_the_program_is_found, test_setup),
        cmocka_unit_test_setup(loader_by_hand_says_what_it_is, test_setup),
    };

    return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
