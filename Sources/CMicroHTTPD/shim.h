#pragma once

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tls.h"

/* Everything cmhd_start needs. It must outlive the daemon, which logs through it. */
struct cmhd_options {
    size_t connection_memory;
    /* What GnuTLS may use, as its priority strings say it; NULL without TLS. */
    const char *tls_priorities;
    void *context;
    MHD_AccessHandlerCallback handler;
    void *(*target)(void *context, const char *target, struct MHD_Connection *connection);
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback connection;
    void (*log)(void *context, const char *text);
};

/* Swift cannot take a va_list apart in a C callback. */
static inline void cmhd_log(void *options, const char *format, va_list arguments) {
    const struct cmhd_options *it = (const struct cmhd_options *)options;
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    it->log(it->context, text);
}

/* Nobody looks at libmicrohttpd's decoded path and arguments: requests are given as they were sent. */
static inline size_t cmhd_keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

/* The start function is variadic. There is one thread: see ServingThreads.swift. It does not listen: see Acceptor.swift.
   Its own connection limit is out of reach, because 0.9.75 never unlocks a mutex when a thread finds it reached. It has no
   time-out, because its own counts what is written to a socket, not what the client takes: see Watcher.swift. */
static inline struct MHD_Daemon *cmhd_start(struct cmhd_options *options) {
    const bool is_secure = options->tls_priorities != NULL;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)options->tls_priorities},
        {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)&cmhd_no_certificate},
        {MHD_OPTION_END, 0, NULL},
    };
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET |
            MHD_USE_ERROR_LOG | (is_secure ? MHD_USE_TLS : 0),
        0, NULL, NULL, options->handler, options->context,
        MHD_OPTION_EXTERNAL_LOGGER, &cmhd_log, options,
        MHD_OPTION_ARRAY, is_secure ? tls : &tls[2],
        MHD_OPTION_CONNECTION_LIMIT, 1u << 30,
        MHD_OPTION_CONNECTION_TIMEOUT, 0u,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->connection_memory,
        MHD_OPTION_URI_LOG_CALLBACK, options->target, options->context,
        MHD_OPTION_UNESCAPE_CALLBACK, &cmhd_keep_escapes, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, options->completed, options->context,
        MHD_OPTION_NOTIFY_CONNECTION, options->connection, options->context,
        MHD_OPTION_END);
}

/* A daemon without threads, sockets of its own or log, that reads heads when it is told to: see LayoutProbe.swift. */
static inline struct MHD_Daemon *cmhd_start_probe(
    MHD_AccessHandlerCallback handler,
    void *(*target)(void *context, const char *target, struct MHD_Connection *connection), void *context) {
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, handler, context,
        MHD_OPTION_URI_LOG_CALLBACK, target, context,
        MHD_OPTION_END);
}

static inline void cmhd_run(struct MHD_Daemon *daemon) { MHD_run(daemon); }

/* The functions below take or return enums, which Swift imports as closed ones, or are variadic. */

static inline bool cmhd_add_connection(
    struct MHD_Daemon *daemon, int descriptor, const struct sockaddr *address, socklen_t length) {
    return MHD_add_connection(daemon, descriptor, address, length) == MHD_YES;
}

static inline int cmhd_descriptor(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

/* For the connection's own thread: whether it is suspended still, though it may have been asked to go on. */
static inline bool cmhd_is_suspended(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_SUSPENDED)->suspended == MHD_YES;
}

static inline const struct sockaddr *cmhd_client_address(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
}

static inline void *cmhd_socket_context(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* Bytes of the request's head, its empty line included. */
static inline size_t cmhd_head_size(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
}

/* Everything that takes a record in the connection's memory: fields, and what the library makes of Cookie. */
static inline int cmhd_record_count(struct MHD_Connection *connection) {
    return MHD_get_connection_values_n(
        connection, (enum MHD_ValueKind)(MHD_HEADER_KIND | MHD_COOKIE_KIND | MHD_GET_ARGUMENT_KIND), NULL, NULL);
}

static inline void cmhd_each_field(
    struct MHD_Connection *connection, MHD_KeyValueIteratorN iterator, void *context) {
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, iterator, context);
}

static inline bool cmhd_is_start(enum MHD_ConnectionNotificationCode code) {
    return code == MHD_CONNECTION_NOTIFY_STARTED;
}

/* Whether the answer was sent whole. */
static inline bool cmhd_is_whole(enum MHD_RequestTerminationCode code) {
    return code == MHD_REQUEST_TERMINATED_COMPLETED_OK;
}

static inline enum MHD_Result cmhd_result(bool value) { return value ? MHD_YES : MHD_NO; }

static inline bool cmhd_queue(
    struct MHD_Connection *connection, unsigned int status, struct MHD_Response *response) {
    return MHD_queue_response(connection, status, response) == MHD_YES;
}

static inline bool cmhd_add_field(struct MHD_Response *response, const char *name, const char *value) {
    return MHD_add_response_header(response, name, value) == MHD_YES;
}

static inline struct MHD_Response *cmhd_empty_response(void) {
    return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
}

/* Several fields as one: `value` is that of the field `name`, and behind it the lines of the others, with two spaces for
   each line end, which are at `ends`. libmicrohttpd refuses a value with line ends, so they are put where it has kept the
   value. A field costs it a look at three places in memory for each time that it is sent, which for hits that are not in
   the processor's caches is most of what they cost. */
static inline void cmhd_add_fields(
    struct MHD_Response *response, const char *name, const char *value, const size_t *ends, size_t count) {
    if (MHD_add_response_header(response, name, value) != MHD_YES) return;
    char *kept = (char *)MHD_get_response_header(response, name);
    for (size_t index = 0; kept && index < count; index++) {
        kept[ends[index]] = '\r';
        kept[ends[index] + 1] = '\n';
    }
}

/* A body that only the end of the connection ends; without it a HEAD of unknown length leaves a stray chunk behind. */
static inline void cmhd_end_by_closing(struct MHD_Response *response) {
    MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}

/* Macros with casts, which Swift does not import. */
static inline ssize_t cmhd_end_of_stream(void) { return MHD_CONTENT_READER_END_OF_STREAM; }
static inline ssize_t cmhd_end_with_error(void) { return MHD_CONTENT_READER_END_WITH_ERROR; }
static inline uint64_t cmhd_size_unknown(void) { return MHD_SIZE_UNKNOWN; }

/* Calls of the C library that Swift's module of it leaves out, because they are GNU's or Linux's own. */

extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

static inline int cmhd_accept(int descriptor, struct sockaddr *address, socklen_t *length) {
    return accept4(descriptor, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* What `recv` does, without its name, which is the executable's own: see ServingThread+Receiving.swift. */
static inline ssize_t cmhd_receive(int descriptor, void *target, size_t count, int flags) {
    return recvfrom(descriptor, target, count, flags, NULL, NULL);
}

/* How far the other side is with what was sent to it: what it has acknowledged since the connection began (0 when the
   kernel does not say; Linux does from 4.1 on), and what the socket holds for it still. False when the kernel says neither.
   The struct of TCP_INFO ends too early in glibc's header, and the kernel's own header cannot be included beside that;
   fields are only ever added at its end. */
static inline bool cmhd_send_progress(int descriptor, uint64_t *acknowledged, uint64_t *waiting) {
    const int tcp_info = 11;
    const size_t bytes_acked = 120;
    unsigned char info[128];
    socklen_t length = sizeof info;
    int queued = 0;
    /* It is SIOCOUTQ. */
    if (ioctl(descriptor, TIOCOUTQ, &queued) != 0 || queued < 0) return false;
    *waiting = (uint64_t)queued;
    *acknowledged = 0;
    if (getsockopt(descriptor, IPPROTO_TCP, tcp_info, info, &length) == 0 && length == sizeof info) {
        memcpy(acknowledged, info + bytes_acked, sizeof *acknowledged);
    }
    return true;
}

/* How often the calling thread has waited since it began: for events, for a lock, for the disk. 1 is RUSAGE_THREAD, which
   glibc shows to GNU C only. */
static inline long cmhd_thread_waits(void) {
    struct rusage usage = {0};
    getrusage((__rusage_who_t)1, &usage);
    return usage.ru_nvcsw;
}

static inline int cmhd_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
