#pragma once
#include <brotli/decode.h>
// For malloc_usable_size, which Swift's module of the C library leaves out.
#include <malloc.h>
#include <zlib.h>
#include <zstd.h>

// A macro, which Swift cannot call.
static inline int larder_inflateInit2(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}
