"""Ways by resources that a browser loads for an element or a style."""

from ways.way import Way, table

RESOURCES = table("resource", {
    "img": "<img src='@URL@.png'>",
    "img-srcset": "<img srcset='@URL@.png 1x, @URL@.png 2x'>",
    "img-protocol": "<img src='//@HOST@/x.png'><img src='\\\\@HOST@\\x.png'><img src='http:\\/@HOST@/x.png'>",
    "img-lowsrc": "<img lowsrc='@URL@.png' dynsrc='@URL@.png' longdesc='@URL@' src='@URL@.png'>",
    "image": "<image src='@URL@.png'>",
    "picture": "<picture><source srcset='@URL@.png'><img src=data:,></picture>",
    "input": "<input type=image src='@URL@.png'>",
    "body-background": "<body background='@URL@.png'>",
    "table-background": "<table background='@URL@.png'><tr><td background='@URL@.png'>x</table>",
    "video": "<video src='@URL@.webm' poster='@URL@.png' autoplay muted></video>",
    "audio": "<audio src='@URL@.ogg' preload=auto></audio>",
    "source": "<video preload=auto><source src='@URL@.webm'></video>",
    "track": "<video src=data:video/webm;base64,GkXfo crossorigin><track default src='@URL@.vtt'></video>",
    "bgsound": "<bgsound src='@URL@.wav'>",
    "frame": "<iframe src='@URL@'></iframe>",
    "frame-nested": "<iframe srcdoc=\"<iframe srcdoc='<img src=@URL@.png>'></iframe>\"></iframe>",
    "frame-deep": "<iframe srcdoc=\"<iframe srcdoc='<iframe srcdoc=&quot;&lt;iframe srcdoc=&amp;quot;"
                  "&amp;lt;link rel=preconnect href=@URL@&amp;gt;&amp;quot;&gt;&quot;></iframe>'></iframe>\"></iframe>",
    "frame-credentials": "<iframe credentialless src='@URL@'></iframe><fencedframe src='@URL@'></fencedframe>",
    "frame-lazy": "<iframe loading=lazy src='@URL@'></iframe>",
    "portal": "<portal src='@URL@'></portal>",
    "frameset": "<frameset><frame src='@URL@'></frameset>",
    "object": "<object data='@URL@.svg' type=image/svg+xml codebase='@URL@/' classid=x></object>",
    "object-html": "<object data='@URL@' type=text/html></object>",
    "object-param": "<object type=image/svg+xml><param name=src value='@URL@.svg'><param name=movie value='@URL@'>"
                    "</object>",
    "embed": "<embed src='@URL@.svg' type=image/svg+xml pluginspage='@URL@'>",
    "applet": "<applet code=X.class codebase='@URL@/' archive='@URL@.jar'></applet>",
    "svg-image": "<svg><image href='@URL@.png' width=9 height=9 /><image xlink:href='@URL@.png' width=9 height=9 />"
                 "</svg>",
    "svg-use": "<svg><use href='@URL@.svg#x'/><use xlink:href='@URL@.svg#x'/></svg>",
    "svg-fe-image": "<svg width=9 height=9><filter id=f><feImage href='@URL@.png'/></filter>"
                    "<rect filter='url(#f)' width=9 height=9 /></svg>",
    "svg-attributes": "<svg><rect width=9 height=9 fill='url(@URL@.svg#x)' filter='url(@URL@.svg#x)' "
                      "mask='url(@URL@.svg#x)'"
                      " clip-path='url(@URL@.svg#x)' cursor='url(@URL@.png),auto' marker-start='url(@URL@.svg#x)'/>"
                      "</svg>",
    "svg-animate": "<svg><image width=9 height=9><set attributeName=href to='@URL@.png'/></image></svg>",
    "svg-animate-xlink": "<svg><image width=9 height=9><animate attributeName='xlink:href' values='@URL@.png' dur=1s />"
                         "</image></svg>",
    "svg-foreign": "<svg><foreignObject width=9 height=9><img src='@URL@.png'></foreignObject></svg>",
    "svg-data": "<img src=\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'><image href='@URL@.png'/>"
                "</svg>\">",
    "shadow": "<div><template shadowrootmode=open><img src='@URL@.png'></template></div>",
    "noscript": "<noscript><img src='@URL@.png'></noscript>",
    "cdata": "<![CDATA[><img src='@URL@.png'>]]>",
    "comment": "<!-- --!><img src='@URL@.png'>",
    "plain-end": "<xmp></xmp ><img src='@URL@.png'><plaintext><img src='@URL@.png'>",
    "api-img": "<img src='@API@/entries'><img src='@API@/fetch/@URL@'><img src='/entries'><img src='/fetch/@URL@'>",
    "api-frame": "<iframe src='@API@/'></iframe><iframe src='@API@/pages'></iframe><iframe src='/pages'></iframe>",
    "api-object": "<object data='@API@/entries' type=text/html></object><embed src='@API@/metrics' type=text/html>",
    "api-style": "<link rel=stylesheet href='@API@/metrics'><script src='@API@/entries'></script>",
    "api-script": "<script>for (const at of ['@API@/entries', '/entries', '@API@/fetch/@URL@'])"
                  "fetch(at, {credentials: 'include', mode: 'no-cors'});"
                  "fetch('@API@/entries?all=true', {method: 'DELETE'}); fetch('@URL@')</script>",
})

STYLES = table("style", {
    "import": "<style>@import '@URL@.css';</style>",
    "import-url": "<style>@import url(@URL@.css) layer(x) supports(display: grid) screen;</style>",
    "import-escaped": "<style>@\\69mport '@URL@.css';</style>",
    "import-broken": "<style>@charset 'x'; @import '@URL@.css'</style>",
    "background": "<body style=\"background: url('@URL@.png')\">",
    "background-escaped": "<body style='background: u\\72l(@URL@.png)'>",
    "background-entity": "<body style='background: url&lpar;&quot;@URL@.png&quot;)'>",
    "background-broken": "<style>a{content:\"x\n}body{background:url(@URL@.png)}</style>",
    "background-comment": "<style><!-- body{background:/**/url(@URL@.png)} --></style>",
    "background-open": "<style>body{background:url(@URL@.png",
    "image-set": "<style>body{background:image-set('@URL@.png' 1x)}</style>",
    "image-set-webkit": "<style>body{background:-webkit-image-set(url(@URL@.png) 1x)}</style>",
    "cross-fade": "<style>body{background:-webkit-cross-fade(url(@URL@.png),url(@URL@.png),50%)}</style>",
    "variable": "<style>:root{--x:url(@URL@.png)}body{background:var(--x)}</style>",
    "property": "<style>@property --p{syntax:'<image>';inherits:false;initial-value:url(@URL@.png)}"
                "body{background:var(--p)}</style>",
    "attribute": "<style>body{background:attr(data-x type(<url>))}</style><body data-x=\"url('@URL@.png')\">",
    "nested": "<style>@layer a{@media all{body{&{background:url(@URL@.png)}}}}</style>",
    "font": "<style>@font-face{font-family:X;src:url(@URL@.woff2)}body{font-family:X}</style>text",
    "cursor": "<style>body{cursor:url(@URL@.png),auto}</style>text",
    "filter": "<style>b{filter:url(@URL@.svg#f)}</style><b>text</b>",
    "mask": "<style>b{mask:url(@URL@.svg#m);-webkit-mask-box-image:url(@URL@.png)}</style><b>text</b>",
    "clip-path": "<style>b{clip-path:url(@URL@.svg#c)}</style><b>text</b>",
    "shape": "<style>b{float:left;shape-outside:url(@URL@.png)}</style><b>text</b>",
    "border": "<style>b{border:3px solid;border-image:url(@URL@.png) 3}</style><b>text</b>",
    "list": "<style>li{list-style-image:url(@URL@.png)}</style><li>text",
    "content": "<style>b::before{content:url(@URL@.png)}</style><b>text</b>",
    "visited": "<style>:visited{color:red}a:link{background:url(@URL@.png)}</style><a href=#>link</a>",
    "svg": "<svg><style>rect{fill:red;mask:url(@URL@.svg#m)}</style><rect width=9 height=9 /></svg>",
    "binding": "<style>b{behavior:url(@URL@.htc);-moz-binding:url(@URL@.xml#x);background:url(@URL@.png)}</style>"
               "<b>text</b>",
}) + [
    Way("style-sheet", "<link rel=stylesheet href=a.css>", files={
        "a.css": ("text/css", "@import 'b.css'; body{background:url(@URL@.png)}"),
        "b.css": ("text/css", "@\\000069mport '@URL@.css'; html{background:image-set('@URL@.png' 1x)}")}),
    Way("style-sheet-html", "<link rel=stylesheet href=a.css>", files={
        "a.css": ("text/html", "/*<script>fetch('@URL@')</script>*/ body{background:url(@URL@.png)}")}),
]
