/* Readiness, as systemd wants to be told it (Type=notify). Nothing happens where nobody asked. */
#ifndef METRON_KEEPER_NOTIFY_H
#define METRON_KEEPER_NOTIFY_H

void notify_ready(void);
void notify_stopping(void);
/* It is not ready yet, needs two more minutes at most until the next call, and has done this part, 0 to 1. */
void notify_upgrading(double done);
/* It ends without having begun, and nothing is wrong. */
void notify_turned_off(void);

#endif
