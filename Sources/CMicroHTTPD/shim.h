#pragma once

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tls.h"

/* The arguments of cmhd_start. They must outlive the daemon, because it logs through them. */
struct cmhd_options {
    size_t connection_memory;
    /* The allowed protocols and algorithms, as a GnuTLS priority string; NULL without TLS. */
    const char *tls_priorities;
    void *context;
    MHD_AccessHandlerCallback handler;
    void *(*target)(void *context, const char *target, struct MHD_Connection *connection);
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback connection;
    void (*log)(void *context, const char *text);
};

/* Formats a log line here, because a C callback in Swift cannot read a va_list. */
static inline void cmhd_log(void *options, const char *format, va_list arguments) {
    const struct cmhd_options *it = (const struct cmhd_options *)options;
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    it->log(it->context, text);
}

/* Leaves the text escaped, because libmicrohttpd's decoded path and arguments are not used: handlers get requests as
   they were sent. */
static inline size_t cmhd_keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

/* Starts a daemon; a shim, because the start function is variadic. The daemon has one thread: see ServingThreads.swift.
   It does not listen: see Acceptor.swift. The library's own connection limit is set out of reach, because a thread of
   0.9.75 that finds it reached never unlocks a mutex. The library's own time-out is off, because it counts the bytes
   written to a socket, not the bytes that the client takes: see Watcher.swift. */
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

/* Starts a daemon without threads, sockets of its own or a log, which reads heads when cmhd_run is called: see
   LayoutProbe.swift. */
static inline struct MHD_Daemon *cmhd_start_probe(
    MHD_AccessHandlerCallback handler,
    void *(*target)(void *context, const char *target, struct MHD_Connection *connection), void *context) {
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, handler, context,
        MHD_OPTION_URI_LOG_CALLBACK, target, context,
        MHD_OPTION_END);
}

static inline void cmhd_run(struct MHD_Daemon *daemon) { MHD_run(daemon); }

/* The functions below need shims because they take or return enums, which Swift imports as closed enums, or are
   variadic. */

static inline bool cmhd_add_connection(
    struct MHD_Daemon *daemon, int descriptor, const struct sockaddr *address, socklen_t length) {
    return MHD_add_connection(daemon, descriptor, address, length) == MHD_YES;
}

static inline int cmhd_descriptor(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

/* Whether the connection is still suspended, perhaps with a resume under way. Call it on the connection's thread. */
static inline bool cmhd_is_suspended(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_SUSPENDED)->suspended == MHD_YES;
}

static inline const struct sockaddr *cmhd_client_address(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
}

static inline void *cmhd_socket_context(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* The length of the request's head in bytes, including its empty line. */
static inline size_t cmhd_head_size(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
}

/* The number of records in the connection's memory: the fields, the cookies that the library parses from Cookie, and
   the arguments that it finds in the target. */
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

/* Whether the answer was sent completely. */
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

/* Adds several fields as one field: `value` is the value of the field `name`, followed by the lines of the further
   fields, with two spaces in place of each line end, at the offsets `ends`. libmicrohttpd refuses a value with line
   ends, so the line ends are written into libmicrohttpd's own copy of the value. Each field costs libmicrohttpd
   accesses to three places in memory whenever it is sent, which is most of the cost of a hit that is not in the
   processor's caches. */
static inline void cmhd_add_fields(
    struct MHD_Response *response, const char *name, const char *value, const size_t *ends, size_t count) {
    if (MHD_add_response_header(response, name, value) != MHD_YES) return;
    char *kept = (char *)MHD_get_response_header(response, name);
    for (size_t index = 0; kept && index < count; index++) {
        kept[ends[index]] = '\r';
        kept[ends[index] + 1] = '\n';
    }
}

/* Makes the end of the connection end the body. Otherwise the answer to a HEAD of unknown length leaves a stray chunk
   behind. */
static inline void cmhd_end_by_closing(struct MHD_Response *response) {
    MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}

/* Macros with casts, which Swift does not import. */
static inline ssize_t cmhd_end_of_stream(void) { return MHD_CONTENT_READER_END_OF_STREAM; }
static inline ssize_t cmhd_end_with_error(void) { return MHD_CONTENT_READER_END_WITH_ERROR; }
static inline uint64_t cmhd_size_unknown(void) { return MHD_SIZE_UNKNOWN; }

/* Functions of the C library that Swift's module for it omits, because they are specific to GNU or Linux. */

extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

static inline int cmhd_accept(int descriptor, struct sockaddr *address, socklen_t *length) {
    return accept4(descriptor, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* Receives like `recv`. It does not call `recv`, because the executable defines that name: see
   ConnectionDriver+Receiving.swift. */
static inline ssize_t cmhd_receive(int descriptor, void *target, size_t count, int flags) {
    return recvfrom(descriptor, target, count, flags, NULL, NULL);
}

/* The progress of the other side with the bytes sent to it. `acknowledged` gets the bytes acknowledged since the
   connection began (0 if the kernel does not tell; Linux does from 4.1 on), and `waiting` the bytes that the socket
   still holds. Returns false if the kernel tells neither. glibc's struct for TCP_INFO ends too early, and the kernel's
   own header cannot be included beside it. Fixed offsets are safe, because the kernel only adds fields at the end of
   the struct. */
static inline bool cmhd_send_progress(int descriptor, uint64_t *acknowledged, uint64_t *waiting) {
    const int tcp_info = 11;
    const size_t bytes_acked = 120;
    unsigned char info[128];
    socklen_t length = sizeof info;
    int queued = 0;
    /* TIOCOUTQ is the same as SIOCOUTQ. */
    if (ioctl(descriptor, TIOCOUTQ, &queued) != 0 || queued < 0) return false;
    *waiting = (uint64_t)queued;
    *acknowledged = 0;
    if (getsockopt(descriptor, IPPROTO_TCP, tcp_info, info, &length) == 0 && length == sizeof info) {
        memcpy(acknowledged, info + bytes_acked, sizeof *acknowledged);
    }
    return true;
}

/* How often the calling thread has waited since it began: for events, for a lock, for the disk. 1 is RUSAGE_THREAD,
   which glibc declares for GNU C only. */
static inline long cmhd_thread_waits(void) {
    struct rusage usage = {0};
    getrusage((__rusage_who_t)1, &usage);
    return usage.ru_nvcsw;
}

