/* The scripted origin, which is fast and always gives the same answer to the same request.

   origin PORT THREADS

   /SIZE/anything        SIZE bytes of text
   /json/SIZE/anything   a JSON string of SIZE bytes
   /page/SIZE/NAME       an HTML document with 5 style sheets and 45 images of SIZE bytes each
   /page/SIZE/NAME/FILE  a style sheet (FILE ends with .css) or an image; each target has another body
   /count                the number of requests of the kinds above so far

   Except below /page, every size has one prepared response, so that misses measure the caches and not the origin. */
#include "serve.h"

#include <stdatomic.h>

enum { SIZES = 64, LARGEST = 64 << 20, PAGE_SHEETS = 5, PAGE_IMAGES = 45 };

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

/* Sends a body that the library frees. */
static enum MHD_Result send_body(struct MHD_Connection *connection, char *body, size_t size, const char *type)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(size, body, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(body);
        return MHD_NO;
    }
    add_field(response, "Content-Type", type);
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

/* Fills the rest of a buffer of `size` bytes, which contains `used` bytes, with repetitions of a text. */
static void fill(char *body, size_t used, size_t size, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = used; i < size; i++) body[i] = text[(i - used) % length];
}

/* A document of about 25 KB, which names its resources by URLs relative to its own. */
static enum MHD_Result send_page(struct MHD_Connection *connection, const char *name)
{
    static const char paragraph[] =
        "<p class=\"text\">A page of a journal has some paragraphs between its pictures. Each of them is a few "
        "sentences long, names <a href=\"/page/64/other\">another page</a> and has <em>words</em> in other type. The "
        "length of a paragraph is that of paragraphs on the web, and none of its bytes changes in a replay.</p>\n";
    size_t room = (sizeof paragraph + 256 + 2 * strlen(name)) * (PAGE_SHEETS + PAGE_IMAGES) + 1024, used = 0;
    char *body = allocate(room);
    used += (size_t)snprintf(body, room, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                             "<title>%s</title>\n", name);
    for (int i = 0; i < PAGE_SHEETS; i++)
        used += (size_t)snprintf(body + used, room - used, "<link rel=\"stylesheet\" href=\"%s/%d.css\">\n", name, i);
    used += (size_t)snprintf(body + used, room - used, "</head>\n<body>\n");
    for (int i = 0; i < PAGE_IMAGES; i++)
        used += (size_t)snprintf(body + used, room - used,
                                 "<figure class=\"picture\"><img src=\"%s/%d.png\" width=\"640\" height=\"480\" "
                                 "alt=\"Picture %d\"></figure>\n%s", name, i, i, paragraph);
    used += (size_t)snprintf(body + used, room - used, "</body>\n</html>\n");
    return send_body(connection, body, used, "text/html; charset=utf-8");
}

/* A resource of a page. Its body begins with its target, so that captures share no bodies. */
static enum MHD_Result send_resource(struct MHD_Connection *connection, const char *target, size_t size)
{
    size_t length = strlen(target);
    int is_sheet = length > 4 && !strcmp(target + length - 4, ".css");
    char *body = allocate(size + length + 8);
    int used = snprintf(body, size + length + 8, is_sheet ? "/*%s*/" : "%s", target);
    if ((size_t)used < size) fill(body, (size_t)used, size, is_sheet ? "p { margin: 0 auto }\n" : "picture ");
    return send_body(connection, body, size, is_sheet ? "text/css" : "image/png");
}

static enum MHD_Result answer_page(struct MHD_Connection *connection, const char *target)
{
    char *name;
    unsigned long size = strtoul(target + 6, &name, 10);
    if (*name != '/' || size > LARGEST) return send_text(connection, MHD_HTTP_NOT_FOUND, "no such thing\n");
    atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed);
    return strchr(name + 1, '/') ? send_resource(connection, target, size) : send_page(connection, name + 1);
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
    if (!strncmp(target, "/page/", 6)) return answer_page(connection, target);
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
