#include "cmd/daemon_description.h"

const struct command_description daemon_description = {
    .name = "daemon",
    .summary = "watch this user's processes and jobs, keep their history, answer a socket",
    .usage = "[OPTION...] [status | stop]",
    .description =
        "Watches every process of this user (for root: of the machine), takes a snapshot every few seconds, "
        "keeps a history and answers on a socket: what runs now, what happened, what jobs used. Runs in the "
        "foreground; with --detach in the background, once it listens.\n"
        "\n"
        "A job is announced by 'metron job start', by 'metron run --job', or over the socket; its processes "
        "are followed through setsid and re-parenting. With privilege the kernel tells of every process as "
        "it comes and goes, and nothing is missed.\n"
        "\n"
        "'metron daemon status' tells how the running one fares, 'metron daemon stop' ends it. SIGHUP reads "
        "the settings again, SIGTERM writes what is queued and ends it with exit code 0. The history is an "
        "SQLite file that any program may read meanwhile; the format is in docs/daemon.md.",
    .examples = "  metron daemon --detach\n"
                "  metron daemon status\n"
                "  metron daemon --interval 1 --database off --log-file /tmp/snapshots.jsonl\n",
    .command = COMMAND_DAEMON,
    .options_anywhere = true,
};
