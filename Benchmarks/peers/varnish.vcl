# Varnish as a caching proxy before the origin. @NAMES@ are filled in by the harness.
vcl 4.1;

backend origin {
    .host = "127.0.0.1";
    .port = "@ORIGIN@";
    # As many misses at once as there are clients.
    .max_connections = 256;
}

sub vcl_recv {
    # What is asked for is always a plain GET: straight to the look-up.
    return (hash);
}

sub vcl_backend_response {
    # Nothing is kept beyond its time, so that no request is answered with a stale body.
    set beresp.grace = 0s;
}
