#pragma once

#include <stddef.h>

/// A file that is part of the executable.
struct larder_embedded_file {
    const char *name;
    const unsigned char *bytes;
    size_t length;
};

/// All files, the first of `count`. Swift does not import arrays of unknown length.
const struct larder_embedded_file *larder_embedded_files(size_t *count);
