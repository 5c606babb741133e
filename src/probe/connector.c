/*
 * The process connector: NETLINK_CONNECTOR, group CN_IDX_PROC. One datagram is
 *
 *   struct nlmsghdr (16 bytes)  length, type NLMSG_DONE, port 0 (the kernel)
 *   struct cn_msg   (20 bytes)  id {CN_IDX_PROC, CN_VAL_PROC}, seq, ack, len
 *   struct proc_event           what, cpu, timestamp_ns, then the data of that kind of event
 *
 * Subscribing is a LISTEN message, answered by an event PROC_EVENT_NONE with an error number and an ack one
 * above ours (seq is as sent on older kernels, a count of the kernel's own on newer). The kernel handles what
 * is sent to it inside the send call (since 2.6.39), so the answer is in the queue when send returns and no
 * time-out is needed: no answer means that there will be none. Answers go to every listener of the machine,
 * so ours is told by its ack.
 *
 * Each CPU numbers its messages (seq): a gap is what the queue had no room for. For that every kind of event
 * must come, also those that nobody here needs; so the set of wanted events that kernels from 6.6 take is not
 * used. The event struct sits 4 bytes off its alignment in the datagram and is always copied out.
 */
#include "probe/connector.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>

#include "probe/breakage.h"
#include "probe/namespaces.h"

#define RECEIVE_BUFFER_BYTES (8 << 20)
#define BATCH_DATAGRAMS      64
#define BATCHES_PER_READ     4
#define DATAGRAM_SIZE        128 /* events are 76 bytes with their headers */

/* Where the fields of struct proc_event lie that every kernel has sent. */
#define EVENT_DATA_OFFSET offsetof(struct proc_event, event_data)

typedef void message_visit(void *context, const struct cn_msg *header, const struct proc_event *event,
                           size_t event_length);

/* Calls `visit` for each whole message of the process connector in a datagram. */
static int datagram_walk(const void *bytes, size_t length, message_visit *visit, void *context)
{
    const char *at = bytes;

    while (length > 0) {
        struct nlmsghdr netlink;
        struct cn_msg header;
        struct proc_event event = {0};
        size_t step, body;

        if (length < NLMSG_HDRLEN)
            return -EBADMSG;
        memcpy(&netlink, at, sizeof(netlink));
        if (netlink.nlmsg_len < NLMSG_HDRLEN || netlink.nlmsg_len > length)
            return -EBADMSG;
        body = netlink.nlmsg_len - NLMSG_HDRLEN;
        if (netlink.nlmsg_type == NLMSG_DONE) {
            if (body < sizeof(header))
                return -EBADMSG;
            memcpy(&header, at + NLMSG_HDRLEN, sizeof(header));
            body -= sizeof(header);
            if (header.len > body)
                return -EBADMSG;
            if (header.id.idx == CN_IDX_PROC && header.id.val == CN_VAL_PROC) {
                size_t event_length = header.len < sizeof(event) ? header.len : sizeof(event);

                memcpy(&event, at + NLMSG_HDRLEN + sizeof(header), event_length);
                visit(context, &header, &event, event_length);
            }
        }
        step = NLMSG_ALIGN(netlink.nlmsg_len);
        if (step >= length)
            break;
        at += step;
        length -= step;
    }
    return 0;
}

struct event_visit {
    void (*visit)(void *context, const struct connector_event *event);
    void *context;
    int count;
    bool cut_off;
};

static void event_convert(void *context, const struct cn_msg *header, const struct proc_event *event,
                          size_t event_length)
{
    struct event_visit *visit = context;
    struct connector_event out = {
        .what = CONNECTOR_OTHER,
        .cpu = event->cpu,
        .sequence = header->seq,
        .stamp_ns = event->timestamp_ns,
    };
    size_t needed = EVENT_DATA_OFFSET;

    switch ((uint32_t)event->what) {
    case (uint32_t)PROC_EVENT_FORK:
        out.what = CONNECTOR_FORK;
        out.pid = event->event_data.fork.child_pid;
        out.tgid = event->event_data.fork.child_tgid;
        out.parent_tgid = event->event_data.fork.parent_tgid;
        needed += sizeof(event->event_data.fork);
        break;
    case (uint32_t)PROC_EVENT_EXEC:
        out.what = CONNECTOR_EXEC;
        out.pid = event->event_data.exec.process_pid;
        out.tgid = event->event_data.exec.process_tgid;
        needed += sizeof(event->event_data.exec);
        break;
    case (uint32_t)PROC_EVENT_EXIT:
        out.what = CONNECTOR_EXIT;
        out.pid = event->event_data.exit.process_pid;
        out.tgid = event->event_data.exit.process_tgid;
        out.wait_status = (int)event->event_data.exit.exit_code;
        /* The parent's numbers behind exit_code came with 4.18. */
        needed += offsetof(struct exit_proc_event, exit_signal);
        break;
    default:
        break;
    }
    if (event_length < needed) {
        visit->cut_off = true;
    } else {
        visit->visit(visit->context, &out);
        visit->count++;
    }
}

int connector_parse(const void *bytes, size_t length,
                    void (*visit)(void *context, const struct connector_event *event), void *context)
{
    struct event_visit events = {.visit = visit, .context = context};
    int status = datagram_walk(bytes, length, event_convert, &events);

    if (status < 0)
        return status;
    return events.cut_off ? -EBADMSG : events.count;
}

static int request_send(int fd, uint32_t sequence, uint32_t operation)
{
    char message[NLMSG_HDRLEN + sizeof(struct cn_msg) + sizeof(operation)];
    const struct cn_msg header = {
        .id = {.idx = CN_IDX_PROC, .val = CN_VAL_PROC},
        .seq = sequence,
        .ack = sequence,
        .len = sizeof(operation),
    };
    const struct nlmsghdr netlink = {.nlmsg_type = NLMSG_DONE, .nlmsg_len = (uint32_t)sizeof(message)};

    memcpy(message, &netlink, sizeof(netlink));
    memcpy(message + NLMSG_HDRLEN, &header, sizeof(header));
    memcpy(message + NLMSG_HDRLEN + sizeof(header), &operation, sizeof(operation));
    if (send(fd, message, sizeof(message), 0) < 0)
        return -errno;
    return 0;
}

struct answer {
    uint32_t sequence; /* in: what was sent */
    bool found;
    uint32_t err; /* out: a positive errno, 0 for yes */
};

static void answer_match(void *context, const struct cn_msg *header, const struct proc_event *event,
                         size_t event_length)
{
    struct answer *answer = context;

    if ((uint32_t)event->what != PROC_EVENT_NONE || header->ack != answer->sequence + 1)
        return;
    if (event_length < EVENT_DATA_OFFSET + sizeof(event->event_data.ack))
        return;
    answer->found = true;
    answer->err = event->event_data.ack.err;
}

/* Asks for events and takes the answer out of the queue, with any events that stood before it. 0, -ENOMSG if
 * the kernel gave no answer, or the error it answered. */
static int subscribe(int fd)
{
    struct answer answer = {.sequence = (uint32_t)getpid() << 1}; /* unlike that of any other program here */
    int status = request_send(fd, answer.sequence, PROC_CN_MCAST_LISTEN);

    if (status < 0)
        return status;
    while (!answer.found) {
        char datagram[DATAGRAM_SIZE];
        struct sockaddr_nl sender = {0};
        socklen_t sender_length = sizeof(sender);
        ssize_t length = recvfrom(fd, datagram, sizeof(datagram), MSG_DONTWAIT, (struct sockaddr *)&sender,
                                  &sender_length);

        if (length < 0 && (errno == EINTR || errno == ENOBUFS))
            continue;
        if (length < 0)
            return errno == EAGAIN ? -ENOMSG : -errno;
        if (sender.nl_pid == 0)
            datagram_walk(datagram, (size_t)length, answer_match, &answer);
    }
    return -(int)answer.err;
}

static int refusal(int code, const char *what, struct metron_error *error)
{
    if (code == -EPERM || code == -EACCES)
        return error_set(error, code, "not permitted on this kernel without CAP_NET_ADMIN (%s)", what);
    if (code == -EPROTONOSUPPORT)
        return error_set(error, code, "this kernel has none (CONFIG_CONNECTOR)");
    if (code == -ECONNREFUSED)
        return error_set(error, code,
                         "nobody answers in this network namespace, only in the initial "
                         "one (or the kernel lacks CONFIG_CONNECTOR)");
    if (code == -ENOMSG && !in_initial_namespace("pid"))
        return error_set(error, code, "no answer outside the initial pid namespace");
    if (code == -ENOMSG && !in_initial_namespace("user"))
        return error_set(error, code, "no answer outside the initial user namespace");
    if (code == -ENOMSG)
        return error_set(error, code, "no answer from the kernel (is CONFIG_PROC_EVENTS off?)");
    return error_set(error, code, "%s: %s", what, strerror(-code));
}

int connector_open(struct metron_error *error)
{
    const struct sockaddr_nl group = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    const int buffer_bytes = RECEIVE_BUFFER_BYTES;
    const char *what = "socket";
    int status;
    int fd;

    if (breakage_has("connector"))
        return refusal(-EIO, what, error);
    fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
    if (fd < 0)
        return refusal(-errno, what, error);
    /* RCVBUFFORCE needs CAP_NET_ADMIN; RCVBUF takes what net.core.rmem_max allows. Neither can fail in a
     * way that matters: a small buffer loses events sooner, and says so. */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_bytes, sizeof(buffer_bytes)) < 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof(buffer_bytes));

    what = "bind";
    status = bind(fd, (const struct sockaddr *)&group, sizeof(group)) < 0 ? -errno : 0;
    if (status == 0) {
        what = "subscribe";
        status = subscribe(fd);
    }
    if (status < 0) {
        close(fd);
        return refusal(status, what, error);
    }
    return fd;
}

int connector_read(int fd, void (*visit)(void *context, const struct connector_event *event), void *context)
{
    char datagrams[BATCH_DATAGRAMS][DATAGRAM_SIZE];
    struct sockaddr_nl senders[BATCH_DATAGRAMS];
    struct iovec parts[BATCH_DATAGRAMS];
    struct mmsghdr messages[BATCH_DATAGRAMS];
    int total = 0;

    for (unsigned i = 0; i < BATCH_DATAGRAMS; i++)
        parts[i] = (struct iovec){.iov_base = datagrams[i], .iov_len = DATAGRAM_SIZE};

    for (unsigned batch = 0; batch < BATCHES_PER_READ; batch++) {
        int count;

        for (unsigned i = 0; i < BATCH_DATAGRAMS; i++)
            messages[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &senders[i],
                                                       .msg_namelen = sizeof(senders[i]),
                                                       .msg_iov = &parts[i],
                                                       .msg_iovlen = 1}};
        do {
            count = recvmmsg(fd, messages, BATCH_DATAGRAMS, MSG_DONTWAIT, NULL);
        } while (count < 0 && errno == EINTR);
        if (count < 0)
            return errno == EAGAIN ? total : -errno;
        for (int i = 0; i < count; i++)
            if (senders[i].nl_pid == 0)
                (void)connector_parse(datagrams[i], messages[i].msg_len, visit, context);
        total += count;
        if (count < BATCH_DATAGRAMS)
            break;
    }
    return total;
}

void connector_close(int fd)
{
    if (fd < 0)
        return;
    /* Kernels before 6.6 count listeners machine-wide and would go on making events for nobody. */
    (void)request_send(fd, 0, PROC_CN_MCAST_IGNORE);
    close(fd);
}
