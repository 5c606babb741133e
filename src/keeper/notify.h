/* Readiness, as systemd wants to be told it (Type=notify). Nothing happens where nobody asked. */
#ifndef METRON_KEEPER_NOTIFY_H
#define METRON_KEEPER_NOTIFY_H

void notify_ready(void);
void notify_stopping(void);
/* It ends without having begun, and nothing is wrong. */
void notify_turned_off(void);

#endif
