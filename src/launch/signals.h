/*
 * What the caller decided about signals: which are ignored (nohup), which are blocked. metron handles
 * some of them itself, so it must remember what they were to hand exactly that on to the command.
 */
#ifndef METRON_LAUNCH_SIGNALS_H
#define METRON_LAUNCH_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Remembers mask and dispositions: the first thing in main, before a thread or a library changes any. SIGCHLD
 * itself is then made deliverable: a caller who ignored or blocked it would cost us every exit status. */
void launch_signals_save(void);
/* Whether the caller of metron ignored `signal`. Then metron should leave it so: under nohup, neither
 * metron nor the command ends at a SIGHUP. */
bool launch_signal_was_ignored(int signal);
/* In the forked child, with all signals blocked, before exec: the remembered state is in force again; without
 * an earlier save the dispositions stay and the mask becomes `otherwise`. Makes only async-signal-safe calls.
 */
void launch_signals_restore(const sigset_t *otherwise);

#endif
