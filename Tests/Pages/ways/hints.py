"""Ways by elements and header fields that make a browser connect, refresh or report on its own account."""

from ways.way import Way, table

HINTS = table("hint", {
    "preconnect": "<link rel=preconnect href='@URL@'>",
    "preconnect-crossorigin": "<link crossorigin rel='x PreConnect y' href='@URL@'>",
    "preconnect-escaped": "<link rel='pre&#99;onnect' href='@URL@'>",
    "preconnect-body": "<p><link itemprop=x rel=\"preconnect\" href='//@HOST@/'></p>",
    "preconnect-noscript": "<noscript><link rel=preconnect href='@URL@'></noscript>",
    "preconnect-comment": "<!--><link rel=preconnect href='@URL@'>-->",
    "preconnect-duplicate": "<link rel=preconnect rel=stylesheet href='@URL@'>",
    "preconnect-shadow": "<div><template shadowrootmode=open><link rel=preconnect href='@URL@'></template></div>",
    "preconnect-svg": "<svg><style><link rel=preconnect href='@URL@'></style></svg>",
    "preconnect-null": "<link re\0l=preconnect rel=preconnect href='@URL@'>",
    "preconnect-feed": "<link\frel\f=\fpreconnect\fhref='@URL@'>",
    "preconnect-slash": "<link/rel='preconnect'/href='@URL@'/>",
    "preconnect-charset": "<meta charset=utf-16><link rel=preconnect href='@URL@'>",
    "dns-prefetch": "<link rel=dns-prefetch href='//@NAME@/'>",
    "dns-control": "<meta http-equiv=x-dns-prefetch-control content=on><a href='http://@NAME@/'>link</a>",
    "prefetch": "<link rel=prefetch href='@URL@'>",
    "prerender": "<link rel=prerender href='@URL@'>",
    "next": "<link rel=next href='@URL@'>",
    "preload": "<link rel=preload as=image href='@URL@.png'>",
    "preload-set": "<link rel=preload as=image imagesrcset='@URL@.png 1x, @URL@.png 2x'>",
    "preload-font": "<link rel=preload as=font crossorigin href='@URL@.woff2'>",
    "preload-fetch": "<link rel=preload as=fetch crossorigin=use-credentials href='@URL@'>",
    "modulepreload": "<link rel=modulepreload href='@URL@.js'>",
    "manifest": "<link rel=manifest crossorigin=use-credentials href='@URL@.json'>",
    "icon": "<link rel='shortcut icon' href='@URL@.png'>",
    "search": "<link rel=search type=application/opensearchdescription+xml href='@URL@.xml'>",
    "dictionary": "<link rel=compression-dictionary href='@URL@'>",
    "import": "<link rel=import href='@URL@.html'>",
    "stylesheet": "<link rel=stylesheet href='@URL@.css'>",
    "alternate": "<link rel='alternate stylesheet' title=x href='@URL@.css'>",
    "canonical": "<link rel=canonical href='@URL@'><link rel=amphtml href='@URL@'><link rel=monetization href='@URL@'>",
    "pingback": "<link rel=pingback href='@URL@'><link rel=payment href='@URL@'><link rel=expect href='@URL@'>",
    "appcache": "<html manifest='@URL@.appcache'>",
    "base": "<base href='@URL@/'><img src=image.png><a href=link.html>link</a>",
    "base-late": "<a href=link.html>link</a><base href='@URL@/'><base href=/><img src=image.png>",
    "base-noscript": "<noscript><base href='@URL@/'></noscript><img src=image.png><a href=link.html>link</a>",
    "base-target": "<base target=_blank><a href='@URL@'>link</a>",
    "csp-report": "<meta http-equiv=content-security-policy content=\"img-src 'none'; report-uri @URL@\"><img "
                  "src=x.png>",
    "attribution": "<img src=data:, attributionsrc='@URL@'><a href='@URL@' attributionsrc='@URL@'>link</a>",
})

# A meta element that refreshes leaves its frame. In a replay it has no effect, also where the rewriter cannot see it.
REFRESHES = table("refresh", {
    "plain": "<meta http-equiv=refresh content='0; url=@URL@'>",
    "quoted": "<meta http-equiv=refresh content=\"0;URL='@URL@'\">",
    "bare": "<meta http-equiv=refresh content='0 @URL@'>",
    "comma": "<meta http-equiv=\"Refresh\" content='0,@URL@'>",
    "spaces": "<meta http-equiv=refresh content=' 0.5 ; \t url\n = @URL@'>",
    "escaped": "<meta http-equiv='re&#102;resh' content='0;u&#x72;l=&#104;ttp&colon;//@HOST@/'>",
    "body": "<p><meta content='0;@URL@' http-equiv=refresh></p>",
    "noscript": "<noscript><meta http-equiv=refresh content='0;url=@URL@'></noscript>",
    "noscript-style": "<noscript><style></noscript><meta http-equiv=refresh content='0;url=@URL@'></style></noscript>",
    "comment": "<!--><meta http-equiv=refresh content='0;url=@URL@'>-->",
    "select": "<select><meta http-equiv=refresh content='0;url=@URL@'></select>",
    "svg-style": "<svg><p><style><!--</style><meta http-equiv=refresh content='0;url=@URL@'>--></style></svg>",
    "shadow": "<div><template shadowrootmode=open><meta http-equiv=refresh content='0;@URL@'></template></div>",
    "javascript": "<meta http-equiv=refresh content=\"0;url=javascript:fetch('@URL@')\">",
    "data": "<meta http-equiv=refresh content=\"0;url=data:text/html,<script>fetch('@URL@')</script>\">",
    "api": "<meta http-equiv=refresh content='0;url=@API@/entries?all=true'>",
    "base": "<base href='@URL@/'><meta http-equiv=refresh content='0;url=next.html'>",
})

TEXT = "<p>text</p>"
FIELDS = [Way("field-attachment", TEXT, fields=(("Content-Disposition", "attachment"),), is_shown=False)] + [
    Way(f"field-{name}", TEXT, fields=((key, value),)) for name, key, value in (
    ("link-preconnect", "Link", "<@URL@>; rel=preconnect"),
    ("link-dns", "Link", "<http://@NAME@/>; rel=dns-prefetch"),
    ("link-preload", "Link", "<@URL@.png>; rel=preload; as=image"),
    ("link-prefetch", "Link", "<@URL@>; rel=prefetch"),
    ("link-module", "Link", "<@URL@.js>; rel=modulepreload"),
    ("link-style", "Link", "<@URL@.css>; rel=stylesheet"),
    ("link-dictionary", "Link", "<@URL@>; rel=compression-dictionary"),
    ("refresh", "Refresh", "0; url=@URL@"),
    ("speculation", "Speculation-Rules", "\"@URL@.json\""),
    ("source-map", "SourceMap", "@URL@.map"),
    ("cookie", "Set-Cookie", "hostile=1; Path=/"),
    ("clear", "Clear-Site-Data", "\"*\""),
    ("transport", "Strict-Transport-Security", "max-age=9999; includeSubDomains"),
    ("alternative", "Alt-Svc", "h2=\"@HOST@:443\"; ma=9999"),
    ("hints", "Accept-CH", "Sec-CH-UA-Model"),
    ("location", "Content-Location", "@URL@"),
    ("attribution", "Attribution-Reporting-Register-Source", "{\"destination\": \"@URL@\"}"),
    ("frame-options", "X-Frame-Options", "DENY"),
    ("timing", "Server-Timing", "x;desc=\"@URL@\""),
)] + [
    Way("field-reports", "<img src=x.png>", fields=(
        ("Report-To", '{"group": "g", "max_age": 9999, "endpoints": [{"url": "@URL@"}]}'),
        ("Reporting-Endpoints", 'g="@URL@"'), ("NEL", '{"report_to": "g", "max_age": 9999, "success_fraction": 1}'),
        ("Content-Security-Policy", "img-src 'none'; report-uri @URL@; report-to g"))),
    Way("field-report-only", "<img src=x.png>", fields=(
        ("Content-Security-Policy-Report-Only", "img-src 'none'; report-uri @URL@"),)),
]

REDIRECTS = [Way(f"redirect-{name}", "<img src=hop><a href=hop>link</a><iframe src=hop></iframe>", files={
    "hop": (302, target)}) for name, target in {
        "plain": "@URL@.png", "scheme": "//@HOST@/x.png", "backslash": "\\\\@HOST@/x.png",
        "secure": "https://@HOST@/x.png", "api": "@API@/entries", "javascript": "javascript:fetch('@URL@')",
        "data": "data:text/html,<a href='@URL@'>link</a>",
        "climb": "http://@HOST@/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/entries", "broken": "http://@HOST@:x/",
        "file": "file:///etc/hostname", "loop": "hop",
}.items()]
