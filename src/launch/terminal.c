/*
 * Terminals. The pseudo-terminal is a terminal like any other: its line discipline turns the command's \n
 * into \r\n, and that is what the master reads and what is recorded: what the program wrote as the terminal
 * transformed it, not byte for byte what it wrote.
 */
#include "launch/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/file.h"
#include "launch/descriptor.h"

int terminal_of_user(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (isatty(fd))
            return fd;
    }
    return -1;
}

bool terminal_in_background(int fd)
{
    pid_t foreground = tcgetpgrp(fd);

    return foreground >= 0 && foreground != getpgrp();
}

void terminal_copy_size(int tty_fd, int master_fd)
{
    struct winsize size;

    if (ioctl(tty_fd, TIOCGWINSZ, &size) == 0)
        ioctl(master_fd, TIOCSWINSZ, &size);
}

static int open_slave(int master_fd)
{
    const int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
    char path[64];

    /* Linux 4.13: works whatever is mounted on /dev/pts, for instance in a container. */
    int fd = ioctl(master_fd, TIOCGPTPEER, flags);

    if (fd >= 0)
        return fd;
    int code = ptsname_r(master_fd, path, sizeof(path));

    if (code != 0)
        return -code;
    fd = open(path, flags);
    if (fd < 0)
        return -errno;
    return fd;
}

static void copy_user_terminal(int master_fd, int slave_fd)
{
    int user = terminal_of_user();
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    struct termios modes;

    /* A size of 0 x 0, the kernel's default, makes programs that draw divide by zero. */
    ioctl(master_fd, TIOCSWINSZ, &size);
    if (user < 0)
        return;
    terminal_copy_size(user, master_fd);
    if (tcgetattr(user, &modes) == 0)
        tcsetattr(slave_fd, TCSANOW, &modes);
}

int terminal_open(int *master_fd, int *slave_fd, struct metron_error *error)
{
    int slave = -1;
    int code;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

    master = descriptor_above_stdio(master < 0 ? -errno : master);
    if (master < 0) {
        code = master;
        goto out;
    }
    if (grantpt(master) != 0 || unlockpt(master) != 0) {
        code = -errno;
        goto out;
    }
    slave = descriptor_above_stdio(open_slave(master));
    if (slave < 0) {
        code = slave;
        goto out;
    }
    copy_user_terminal(master, slave);
    *master_fd = master;
    *slave_fd = slave;
    return 0;
out:
    file_close(&master);
    /* ENOENT (no /dev/ptmx) would read as "command not found". */
    if (code == -ENOENT)
        code = -ENODEV;
    return error_set(error, code, "cannot open a pseudo-terminal: %s; without --pty none is needed",
                     strerror(-code));
}
