/* The scripted origin, which is fast and always gives the same answer to the same request.

   origin PORT THREADS

   /SIZE/anything        SIZE bytes of text
   /json/SIZE/anything   a JSON string of SIZE bytes
   /count                the number of requests of the two kinds above so far

   Every size has one prepared response, so that misses measure the caches and not the origin. */
#include "serve.h"

#include <stdatomic.h>

enum { SIZES = 64, LARGEST = 64 << 20 };

struct prepared {
    size_t size;
    int json;
    struct MHD_Response *response;
};

static struct prepared known[SIZES];
static atomic_int known_count;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
static atomic_long requests;

static struct MHD_Response *look_up(size_t size, int json)
{
    int count = atomic_load_explicit(&known_count, memory_order_acquire);
    for (int i = 0; i < count; i++)
        if (known[i].size == size && known[i].json == json) return known[i].response;
    return NULL;
}

static struct MHD_Response *response_of(size_t size, int json)
{
    struct MHD_Response *response = look_up(size, json);
    if (response) return response;
    pthread_mutex_lock(&adding);
    response = look_up(size, json);
    int count = atomic_load(&known_count);
    if (!response && count < SIZES) {
        char tag[48];
        snprintf(tag, sizeof tag, "\"%s%zu\"", json ? "json-" : "", size);
        response = json ? prepare(size, "\"", "\"") : prepare(size, "", "");
        add_field(response, "Content-Type", json ? "application/json" : "application/octet-stream");
        add_field(response, "Cache-Control", "max-age=86400");
        add_field(response, "ETag", tag);
        known[count] = (struct prepared){ size, json, response };
        atomic_store_explicit(&known_count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&adding);
    return response;
}

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
    if (!response) return MHD_NO;
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *target, const char *method,
                              const char *version, const char *data, size_t *size, void **state)
{
    (void)context, (void)method, (void)version, (void)data;
    if (!*state) {
        *state = connection;
        return MHD_YES;
    }
    if (*size) {
        *size = 0;
        return MHD_YES;
    }
    if (!strcmp(target, "/count")) {
        char text[32];
        snprintf(text, sizeof text, "%ld\n", atomic_load(&requests));
        return send_text(connection, MHD_HTTP_OK, text);
    }
    int json = !strncmp(target, "/json/", 6);
    const char *digits = target + (json ? 6 : 1);
    char *end;
    unsigned long wanted = strtoul(digits, &end, 10);
    if (end == digits || *end != '/' || wanted > LARGEST || (json && wanted < 2))
        return send_text(connection, MHD_HTTP_NOT_FOUND, "no such thing\n");
    atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed);
    struct MHD_Response *response = response_of(wanted, json);
    if (!response) return send_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "too many sizes\n");
    return MHD_queue_response(connection, MHD_HTTP_OK, response);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: origin PORT THREADS\n");
        return 2;
    }
    serve((uint16_t)number(argv[1]), (unsigned)number(argv[2]), 0, answer);
    return 0;
}
