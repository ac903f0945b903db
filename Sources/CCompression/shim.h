#pragma once
#include <brotli/decode.h>
// Declares malloc_usable_size, because Swift's module of the C library lacks it.
#include <malloc.h>
#include <zlib.h>
#include <zstd.h>

// Wrap macros, because Swift cannot call them.
static inline int larder_inflateInit2(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

static inline int larder_deflateInit2(z_stream *stream, int window_bits) {
    return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}
