# Varnish as a caching proxy before the origin. @NAMES@ are filled in by the harness.
vcl 4.1;

backend origin {
    .host = "127.0.0.1";
    .port = "@ORIGIN@";
    # Each client may have a miss at the same time.
    .max_connections = 256;
}

sub vcl_recv {
    # Every request is a plain GET, so the look-up follows at once.
    return (hash);
}

sub vcl_backend_response {
    # An expired body is dropped, so that no request gets a stale body.
    set beresp.grace = 0s;
}
