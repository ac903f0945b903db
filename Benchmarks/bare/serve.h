/* The shared code of bare.c, origin.c and proxy.c: a daemon on 127.0.0.1 that is started as in Larder and ends on
   SIGTERM. */
#ifndef LARDER_BENCH_SERVE_H
#define LARDER_BENCH_SERVE_H

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static void *allocate(size_t size)
{
    void *memory = malloc(size ? size : 1);
    if (!memory) fail("malloc");
    return memory;
}

static long number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 0) {
        fprintf(stderr, "not a number: %s\n", text);
        exit(2);
    }
    return value;
}

/* A response that sends `size` bytes of text from a buffer that lives as long as the process. `head` and `tail`
   overwrite the ends of the text: with quotation marks, the text is a JSON string. */
static inline struct MHD_Response *prepare(size_t size, const char *head, const char *tail)
{
    char *body = allocate(size);
    for (size_t i = 0; i < size; i++) body[i] = (char)('a' + i % 26);
    if (size >= strlen(head) + strlen(tail)) {
        memcpy(body, head, strlen(head));
        memcpy(body + size - strlen(tail), tail, strlen(tail));
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(size, body, MHD_RESPMEM_PERSISTENT);
    if (!response) fail("MHD_create_response_from_buffer");
    return response;
}

static void add_field(struct MHD_Response *response, const char *name, const char *value)
{
    if (MHD_add_response_header(response, name, value) != MHD_YES) {
        fprintf(stderr, "not a header field: %s: %s\n", name, value);
        exit(2);
    }
}

/* Serves until SIGTERM or SIGINT. Epoll and one thread per core are the settings of Larder. The other settings are the
   defaults of the library, except a connection limit with room for 10,000 idle connections, a timeout of 600 seconds
   for a connection and a backlog of 4,096 connections. `flags` are further values of MHD_FLAG. */
static void serve(uint16_t port, unsigned threads, unsigned flags, MHD_AccessHandlerCallback handler)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    signal(SIGPIPE, SIG_IGN);

    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG | flags, port, NULL, NULL, handler, NULL,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
        MHD_OPTION_THREAD_POOL_SIZE, threads > 1 ? threads : 0u,
        MHD_OPTION_CONNECTION_LIMIT, 16000u,
        MHD_OPTION_CONNECTION_TIMEOUT, 600u,
        MHD_OPTION_LISTEN_BACKLOG_SIZE, 4096u,
        MHD_OPTION_END);
    if (!daemon) fail("MHD_start_daemon");
    int got;
    sigwait(&ends, &got);
    MHD_stop_daemon(daemon);
}

#endif
