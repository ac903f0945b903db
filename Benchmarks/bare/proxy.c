/* The upper limit of misses: a proxy of libmicrohttpd in front and libcurl behind, without any code of a cache.

   proxy PORT THREADS ORIGIN-PORT

   The proxy forwards every request to the origin on 127.0.0.1 with the same target, and answers with status 200, three
   fields and the body. It does not check, keep or share an answer. Handles and connections are reused. The number of
   transfer threads equals the number of serving threads. An answer is sent when it is complete, head and body at
   once. */
#include "serve.h"

#include <curl/curl.h>
#include <strings.h>

enum { FIELDS = 3, IDLE = 1024 };

static const char *const names[FIELDS] = { "Content-Type", "Cache-Control", "ETag" };

struct transfer {
    struct MHD_Connection *connection;
    struct transfer *next;
    char *url, *body, *values[FIELDS];
    size_t size, room;
};

/* A transfer thread, and the transfers that wait for it. The handles belong to the thread. */
struct loop {
    CURLM *multi;
    CURL *idle[IDLE];
    size_t idle_count;
    pthread_mutex_t lock;
    struct transfer *waiting;
};

static struct loop *loops;
static unsigned loop_count;
static const char *origin;

static size_t take_line(char *line, size_t one, size_t size, void *context)
{
    (void)one;
    struct transfer *transfer = context;
    for (int i = 0; i < FIELDS; i++) {
        size_t name = strlen(names[i]);
        if (size < name + 4 || line[name] != ':' || strncasecmp(line, names[i], name)) continue;
        free(transfer->values[i]);
        transfer->values[i] = strndup(line + name + 2, size - name - 4);
    }
    return size;
}

static size_t take_body(char *bytes, size_t one, size_t size, void *context)
{
    (void)one;
    struct transfer *transfer = context;
    if (transfer->size + size > transfer->room) {
        transfer->room = (transfer->size + size) * 2;
        transfer->body = realloc(transfer->body, transfer->room);
        if (!transfer->body) fail("realloc");
    }
    memcpy(transfer->body + transfer->size, bytes, size);
    transfer->size += size;
    return size;
}

static CURL *new_handle(void)
{
    CURL *handle = curl_easy_init();
    if (!handle) fail("curl_easy_init");
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 65536L);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_line);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body);
    return handle;
}

static void start(struct loop *loop, struct transfer *transfer)
{
    CURL *handle = loop->idle_count ? loop->idle[--loop->idle_count] : new_handle();
    curl_easy_setopt(handle, CURLOPT_URL, transfer->url);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(handle, CURLOPT_PRIVATE, transfer);
    curl_multi_add_handle(loop->multi, handle);
}

static void end(struct loop *loop, CURL *handle)
{
    struct transfer *transfer;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &transfer);
    curl_multi_remove_handle(loop->multi, handle);
    if (loop->idle_count < IDLE) loop->idle[loop->idle_count++] = handle;
    else curl_easy_cleanup(handle);
    MHD_resume_connection(transfer->connection);
}

static void *transfer_all(void *context)
{
    struct loop *loop = context;
    for (;;) {
        pthread_mutex_lock(&loop->lock);
        struct transfer *waiting = loop->waiting;
        loop->waiting = NULL;
        pthread_mutex_unlock(&loop->lock);
        while (waiting) {
            struct transfer *next = waiting->next;
            start(loop, waiting);
            waiting = next;
        }
        int left, ended = 0;
        curl_multi_perform(loop->multi, &left);
        for (CURLMsg *message; (message = curl_multi_info_read(loop->multi, &left)); ended = 1)
            end(loop, message->easy_handle);
        if (!ended) curl_multi_poll(loop->multi, NULL, 0, 60000, NULL);
    }
    return NULL;
}

static enum MHD_Result send_answer(struct transfer *transfer)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(transfer->size, transfer->body, MHD_RESPMEM_MUST_FREE);
    if (!response) fail("MHD_create_response_from_buffer");
    for (int i = 0; i < FIELDS; i++) {
        if (transfer->values[i]) add_field(response, names[i], transfer->values[i]);
        free(transfer->values[i]);
    }
    enum MHD_Result result = MHD_queue_response(transfer->connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    free(transfer->url);
    free(transfer);
    return result;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *target, const char *method,
                              const char *version, const char *data, size_t *size, void **state)
{
    (void)context, (void)method, (void)version, (void)data, (void)size;
    static char isNew;
    if (!*state) {
        *state = &isNew;
        return MHD_YES;
    }
    if (*state != &isNew) return send_answer(*state);
    static __thread unsigned turn;
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer || asprintf(&transfer->url, "%s%s", origin, target) < 0) fail("malloc");
    transfer->connection = connection;
    struct loop *loop = &loops[turn++ % loop_count];
    *state = transfer;
    MHD_suspend_connection(connection);
    pthread_mutex_lock(&loop->lock);
    int isFirst = !loop->waiting;
    transfer->next = loop->waiting;
    loop->waiting = transfer;
    if (isFirst) curl_multi_wakeup(loop->multi);
    pthread_mutex_unlock(&loop->lock);
    return MHD_YES;
}

int main(int argc, char **argv)
{
    if (argc != 4 || number(argv[2]) < 1) {
        fprintf(stderr, "usage: proxy PORT THREADS ORIGIN-PORT\n");
        return 2;
    }
    char text[64];
    snprintf(text, sizeof text, "http://127.0.0.1:%ld", number(argv[3]));
    origin = text;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    loop_count = (unsigned)number(argv[2]);
    loops = calloc(loop_count, sizeof *loops);
    if (!loops) fail("calloc");
    for (unsigned i = 0; i < loop_count; i++) {
        pthread_t thread;
        loops[i].multi = curl_multi_init();
        curl_multi_setopt(loops[i].multi, CURLMOPT_MAXCONNECTS, (long)IDLE);
        pthread_mutex_init(&loops[i].lock, NULL);
        if (!loops[i].multi || pthread_create(&thread, NULL, transfer_all, &loops[i])) fail("pthread_create");
    }
    serve((uint16_t)number(argv[1]), (unsigned)number(argv[2]), MHD_ALLOW_SUSPEND_RESUME, answer);
    return 0;
}
