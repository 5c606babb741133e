/* Where the socket is: root's, the user's, the one under /tmp, and whom not to trust there. */
#include "daemon/socket/socket_path.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static struct socket_place place;
static char path[SOCKET_PATH_SIZE];
static char paths[SOCKET_PATHS_MAX][SOCKET_PATH_SIZE];
static struct metron_error error;

/* Ordinary users, whoever runs this: folders made here belong to the one who is asked about. */
static int setup(void **state)
{
    static char runtime[80], system_folder[80];

    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/metron-test-path-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(runtime, sizeof(runtime), "%s/user", folder);
    (void)snprintf(system_folder, sizeof(system_folder), "%s/system", folder);
    place = (struct socket_place){.uid = geteuid() == 0 ? 4711 : geteuid(),
                                  .runtime_folder = runtime,
                                  .temporary_folder = folder,
                                  .system_folder = system_folder};
    error = (struct metron_error){0};
    return mkdir(runtime, 0700) < 0 || (geteuid() == 0 && chown(runtime, place.uid, place.uid) < 0) ? -1 : 0;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static const char *under(const char *rest)
{
    static char text[128];

    (void)snprintf(text, sizeof(text), "%s/%s", folder, rest);
    return text;
}

static const char *private_folder(void)
{
    static char text[128];

    (void)snprintf(text, sizeof(text), "%s/metron-%u", folder, (unsigned)place.uid);
    return text;
}

static void a_user_has_it_in_the_runtime_folder(void **state)
{
    (void)state;
    assert_int_equal(socket_path_listen(&place, NULL, path, &error), 0);
    assert_string_equal(path, under("user/metron.sock"));
    assert_int_equal(socket_path_list(&place, "", paths, &error), 2);
    assert_string_equal(paths[0], under("user/metron.sock"));
    assert_string_equal(paths[1], under("system/metron.sock"));
}

static void root_has_one_place(void **state)
{
    struct stat file;

    (void)state;
    place.uid = 0;
    assert_int_equal(socket_path_list(&place, NULL, paths, &error), 1);
    assert_string_equal(paths[0], under("system/metron.sock"));
    assert_int_equal(stat(under("system"), &file), -1); /* a client makes nothing */
    assert_int_equal(socket_path_listen(&place, NULL, path, &error), 0);
    assert_string_equal(path, under("system/metron.sock"));
    assert_int_equal(stat(under("system"), &file), 0);
    assert_int_equal(file.st_mode & 022, 0);
}

static void a_chosen_one_is_the_only_one(void **state)
{
    (void)state;
    assert_int_equal(socket_path_listen(&place, "/a/b", path, &error), 0);
    assert_string_equal(path, "/a/b");
    assert_int_equal(socket_path_list(&place, "/a/b", paths, &error), 1);
    assert_string_equal(paths[0], "/a/b");
}

static void a_long_path_is_refused(void **state)
{
    char chosen[SOCKET_PATH_SIZE + 1];

    (void)state;
    memset(chosen, 'x', sizeof(chosen));
    chosen[SOCKET_PATH_SIZE] = '\0';
    assert_int_equal(socket_path_listen(&place, chosen, path, &error), -ENAMETOOLONG);
    assert_int_equal(socket_path_list(&place, chosen, paths, &error), -ENAMETOOLONG);
    chosen[SOCKET_PATH_SIZE - 1] = '\0';
    assert_int_equal(socket_path_listen(&place, chosen, path, &error), 0);
}

static void a_runtime_folder_of_somebody_else_does_not_count(void **state)
{
    (void)state;
    place.uid++;
    assert_int_equal(socket_path_list(&place, NULL, paths, &error), 1);
    assert_string_equal(paths[0], under("system/metron.sock"));
    place.uid--;
    place.runtime_folder = "user"; /* relative */
    assert_int_equal(socket_path_list(&place, NULL, paths, &error), 1);
    place.runtime_folder = under("missing");
    assert_int_equal(socket_path_list(&place, NULL, paths, &error), 1);
}

static void without_one_a_private_folder_is_made(void **state)
{
    struct stat file;

    (void)state;
    place.uid = geteuid(); /* who makes it owns it */
    place.runtime_folder = NULL;
    if (place.uid == 0) {
        print_message("skip %s: root's socket is elsewhere; the rules are tested with other users\n",
                      __func__);
        skip();
    }
    assert_int_equal(socket_path_listen(&place, NULL, path, &error), 0);
    assert_int_equal(stat(private_folder(), &file), 0);
    assert_int_equal(file.st_mode & 07777, 0700);
    assert_int_equal(socket_path_list(&place, NULL, paths, &error), 2);
    assert_string_equal(paths[0], path);
}

static void assert_not_trusted(void)
{
    assert_int_equal(socket_path_listen(&place, NULL, path, &error), -EPERM);
    assert_non_null(strstr(error.message, private_folder()));
    assert_int_equal(socket_path_list(&place, NULL, paths, &error), 1);
    assert_string_equal(paths[0], under("system/metron.sock"));
}

static void give(const char *to)
{
    if (geteuid() == 0)
        assert_int_equal(lchown(to, place.uid, place.uid), 0);
}

static void a_private_folder_is_trusted_only_if_it_is_one(void **state)
{
    (void)state;
    place.runtime_folder = NULL;
    assert_int_equal(mkdir(private_folder(), 0700), 0);
    give(private_folder());
    assert_int_equal(socket_path_listen(&place, NULL, path, &error), 0);
    assert_int_equal(socket_path_list(&place, NULL, paths, &error), 2);
    assert_int_equal(chmod(private_folder(), 0750), 0); /* open to others */
    assert_not_trusted();
    assert_int_equal(chmod(private_folder(), 0700), 0);
    if (geteuid() == 0) { /* another one's */
        assert_int_equal(chown(private_folder(), place.uid + 1, 0), 0);
        assert_not_trusted();
    }
    assert_int_equal(rmdir(private_folder()), 0);
    assert_int_equal(symlink(under("user"), private_folder()), 0); /* a link to one that is all right */
    give(private_folder());
    assert_not_trusted();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_user_has_it_in_the_runtime_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(root_has_one_place, setup, teardown),
        cmocka_unit_test_setup_teardown(a_chosen_one_is_the_only_one, setup, teardown),
        cmocka_unit_test_setup_teardown(a_long_path_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_runtime_folder_of_somebody_else_does_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(without_one_a_private_folder_is_made, setup, teardown),
        cmocka_unit_test_setup_teardown(a_private_folder_is_trusted_only_if_it_is_one, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
