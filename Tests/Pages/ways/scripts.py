"""Ways by scripts, which a replay does not run."""

from ways.way import HTML, table


def script(text):
    return f"<script>{text}</script>"


SCRIPTS = table("script", {
    "inline": "<script>fetch('@URL@')</script>",
    "external": "<script src='@URL@.js'></script>",
    "module": "<script type=module>import '@URL@.js'</script>",
    "dynamic": "<script>import('@URL@.js')</script>",
    "importmap": "<script type=importmap>{\"imports\": {\"x\": \"@URL@.js\"}}</script><script type=module>import 'x'"
                 "</script>",
    "handler-load": "<body onload=\"fetch('@URL@')\">",
    "handler-error": "<img src=data:, onerror=\"fetch('@URL@')\">",
    "handler-focus": "<input autofocus onfocus=\"fetch('@URL@')\">",
    "handler-toggle": "<details open ontoggle=\"fetch('@URL@')\">x</details>",
    "handler-animation": "<style>@keyframes k{}b{animation:k 1ms}</style><b onanimationend=\"fetch('@URL@')\">x</b>",
    "handler-svg": "<svg onload=\"fetch('@URL@')\"></svg>",
    "handler-click": "<button onclick=\"fetch('@URL@')\">button</button>",
    "fetch": script("fetch('@URL@', {mode: 'no-cors', credentials: 'include', keepalive: true})"),
    "xhr": script("x = new XMLHttpRequest(); x.open('POST', '@URL@'); x.send('x')"),
    "beacon": script("navigator.sendBeacon('@URL@', 'x')"),
    "event-source": script("new EventSource('@URL@')"),
    "web-socket": script("new WebSocket('ws://@HOST@/')"),
    "web-transport": script("new WebTransport('https://@HOST@/')"),
    "stun": script("c = new RTCPeerConnection({iceServers: [{urls: 'stun:@HOST@'}]}); c.createDataChannel('x');"
                   "c.createOffer().then((offer) => c.setLocalDescription(offer))"),
    "worker": script("new Worker('worker.js')"),
    "shared-worker": script("new SharedWorker('worker.js')"),
    "service-worker": script("navigator.serviceWorker.register('worker.js')"),
    "worker-blob": script("new Worker(URL.createObjectURL(new Blob(['fetch(\"@URL@\")'])))"),
    "location": script("location = '@URL@'"),
    "navigate": script("navigation.navigate('@URL@')"),
    "history": script("history.pushState({}, '', '/entries'); fetch('@URL@')"),
    "open": script("open('@URL@')"),
    "submit": "<form action='@URL@' method=post><input name=q></form>" + script("document.forms[0].submit()"),
    "image": script("new Image().src = '@URL@.png'"),
    "font": script("new FontFace('x', 'url(@URL@.woff2)').load()"),
    "write": script("document.write('<img src=\"@URL@.png\">')"),
    "hint": script("l = document.createElement('link'); l.rel = 'preconnect'; l.href = '@URL@'; "
    "document.head.append(l)"),
    "frame-javascript": "<iframe src=\"javascript:fetch('@URL@')\"></iframe>",
    "frame-data": "<iframe src=\"data:text/html,<script>fetch('@URL@')</script>\"></iframe>",
    "frame-srcdoc": "<iframe srcdoc=\"<script>fetch('@URL@')</script>\"></iframe>",
    "object-data": "<object data=\"data:text/html,<script>fetch('@URL@')</script>\"></object>",
    "embed-data": "<embed src=\"data:text/html,<script>fetch('@URL@')</script>\" type=text/html>",
    "object-svg": "<object data=\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'>"
                  "<script>fetch('@URL@')</script></svg>\"></object>",
    "svg": "<svg><script href='@URL@.js'></script></svg>",
    "svg-xlink": "<svg><script xlink:href='@URL@.js'></script></svg>",
    "math": "<math><mtext><script>fetch('@URL@')</script></mtext></math>",
    "noscript": "<noscript><p title=\"</noscript><script>fetch('@URL@')</script>\"></noscript>",
    "shadow": "<div><template shadowrootmode=open><img src=data:, onerror=\"fetch('@URL@')\"></template></div>",
    "speculation-prefetch": "<script type=speculationrules>{\"prefetch\": [{\"urls\": [\"@URL@\"], "
                            "\"eagerness\": \"immediate\"}]}</script>",
    "speculation-prerender": "<script type=speculationrules>{\"prerender\": [{\"urls\": [\"@URL@\"], "
                             "\"eagerness\": \"immediate\"}]}</script>",
    "speculation-documents": "<script type=speculationrules>{\"prefetch\": [{\"where\": {\"href_matches\": \"/*\"}, "
                             "\"eagerness\": \"immediate\"}]}</script><a href=next.html>link</a>",
}, files={"worker.js": ("text/javascript", "fetch('@URL@')"), "next.html": (HTML, "<img src='@URL@.png'>")})

TOPS = table("top", {
    "location": script("top.location = '@URL@'"),
    "link": "<a id=a href='@URL@' target=_top>link</a>" + script("a.click()"),
    "form": "<form action='@URL@' target=_top></form>" + script("document.forms[0].submit()"),
})
