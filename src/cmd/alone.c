#include "cmd/alone.h"

#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "launch/failure.h"
#include "launch/launch.h"
#include "launch/signals.h"

int run_alone(char *const *argv, struct metron_error *error)
{
    sigset_t none;

    log_warning("cannot measure: %s; running the command alone", error->message);
    (void)sigemptyset(&none);
    launch_signals_restore(&none);
    (void)execvp(argv[0], argv);
    return launch_failure_exit_code(failure_explain(argv[0], -errno, error));
}
