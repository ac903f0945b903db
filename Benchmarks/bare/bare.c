/* The limit: bare libmicrohttpd that sends one prepared response, whatever it is asked.

   bare PORT THREADS SIZE ["Name: value"]...

   The header fields are those of the Larder response that it is held against, so that both send the same bytes. */
#include "serve.h"

static struct MHD_Response *prepared;

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *target, const char *method,
                              const char *version, const char *data, size_t *size, void **state)
{
    (void)context, (void)target, (void)method, (void)version, (void)data;
    /* A response that is queued in the first call closes the connection; the second one is the place. */
    if (!*state) {
        *state = connection;
        return MHD_YES;
    }
    if (*size) {
        *size = 0;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, prepared);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: bare PORT THREADS SIZE [\"Name: value\"]...\n");
        return 2;
    }
    prepared = prepare((size_t)number(argv[3]), "", "");
    for (int i = 4; i < argc; i++) {
        char *colon = strchr(argv[i], ':');
        if (!colon) {
            fprintf(stderr, "not a header field: %s\n", argv[i]);
            return 2;
        }
        *colon = 0;
        add_field(prepared, argv[i], colon + 1 + strspn(colon + 1, " "));
    }
    serve((uint16_t)number(argv[1]), (unsigned)number(argv[2]), answer);
    return 0;
}
