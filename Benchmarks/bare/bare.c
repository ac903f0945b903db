/* The upper limit of hits: bare libmicrohttpd that answers every request with a prepared response.

   bare PORT THREADS SIZE BODIES ["Name: value"]...

   With several bodies, the server sends them in turn. The bodies then come from RAM, as the bodies of a cache do, and
   not from the processor's caches. The header fields are the fields of the Larder response to which the server is
   compared, so that both send the same bytes. */
#include "serve.h"

static struct MHD_Response **prepared;
static size_t bodies;

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *target, const char *method,
                              const char *version, const char *data, size_t *size, void **state)
{
    (void)context, (void)target, (void)method, (void)version, (void)data;
    /* A response that is queued in the first call closes the connection, so the second call queues it. */
    if (!*state) {
        *state = connection;
        return MHD_YES;
    }
    if (*size) {
        *size = 0;
        return MHD_YES;
    }
    static __thread size_t turn;
    return MHD_queue_response(connection, MHD_HTTP_OK, prepared[turn++ % bodies]);
}

int main(int argc, char **argv)
{
    if (argc < 5 || number(argv[4]) < 1) {
        fprintf(stderr, "usage: bare PORT THREADS SIZE BODIES [\"Name: value\"]...\n");
        return 2;
    }
    bodies = (size_t)number(argv[4]);
    prepared = allocate(bodies * sizeof *prepared);
    for (size_t k = 0; k < bodies; k++) prepared[k] = prepare((size_t)number(argv[3]), "", "");
    for (int i = 5; i < argc; i++) {
        char *colon = strchr(argv[i], ':');
        if (!colon) {
            fprintf(stderr, "not a header field: %s\n", argv[i]);
            return 2;
        }
        *colon = 0;
        for (size_t k = 0; k < bodies; k++) add_field(prepared[k], argv[i], colon + 1 + strspn(colon + 1, " "));
    }
    serve((uint16_t)number(argv[1]), (unsigned)number(argv[2]), 0, answer);
    return 0;
}
