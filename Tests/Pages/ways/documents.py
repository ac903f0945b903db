"""Ways by documents of XML. Their entities, prefixes and defaults hide elements and URLs."""

from ways.way import SVG, XHTML, XML, table

NAMESPACES = ("xmlns='http://www.w3.org/1999/xhtml' xmlns:h='http://www.w3.org/1999/xhtml' "
              "xmlns:s='http://www.w3.org/2000/svg' xmlns:q='http://www.w3.org/1999/xlink'")
DOCUMENTS = table("xhtml", {
    "plain": f"<html {NAMESPACES}><body><a href='@URL@'>link</a><img src='@URL@.png'/></body></html>",
    "prefix": f"<h:html {NAMESPACES}><h:body><h:a href='@URL@'>link</h:a><h:img src='@URL@.png'/></h:body></h:html>",
    "prefix-hint": f"<html {NAMESPACES}><head><h:link rel='preconnect' href='@URL@'/></head><body>x</body></html>",
    "prefix-refresh": f"<html {NAMESPACES}><head><h:meta http-equiv='refresh' content='0;@URL@'/></head><body/></html>",
    "prefix-base": f"<html {NAMESPACES}><head><h:base href='@URL@/'/></head><body><a href='b'>link</a></body></html>",
    "prefix-svg": f"<html {NAMESPACES}><body><s:svg><s:a q:href='@URL@'><s:text y='20'>link</s:text></s:a>"
                  "<s:image q:href='@URL@.png' width='9' height='9'/></s:svg></body></html>",
    "entity": f"<!DOCTYPE html [<!ENTITY u '@URL@'>]><html {NAMESPACES}><body><a href='&u;'>link</a></body></html>",
    "entity-markup": "<!DOCTYPE html [<!ENTITY m \"<a xmlns='http://www.w3.org/1999/xhtml' href='@URL@'>link</a>"
                     "<link xmlns='http://www.w3.org/1999/xhtml' rel='preconnect' href='@URL@'/>\">]>"
                     f"<html {NAMESPACES}><body>&m;</body></html>",
    "entity-nested": "<!DOCTYPE html [<!ENTITY a 'ttp://@HOST@'><!ENTITY u 'h&a;/'>]>"
                     f"<html {NAMESPACES}><body><a href='&u;'>link</a></body></html>",
    "entity-charrefs": "<!DOCTYPE html [<!ENTITY m \"&#60;a href='@URL@'>link&#60;/a>\">]>"
                       f"<html {NAMESPACES}><body>&m;</body></html>",
    "entity-parameter": "<!DOCTYPE html [<!ENTITY % p \"<!ENTITY u '@URL@'>\">%p;]>"
                        f"<html {NAMESPACES}><body><a href='&u;'>link</a></body></html>",
    "entity-external": f"<!DOCTYPE html [<!ENTITY u SYSTEM '@URL@.xml'>]><html {NAMESPACES}><body>&u;</body></html>",
    "dtd": f"<!DOCTYPE html SYSTEM '@URL@.dtd'><html {NAMESPACES}><body>x</body></html>",
    "attlist": "<!DOCTYPE html [<!ATTLIST a href CDATA '@URL@'><!ATTLIST link rel CDATA 'preconnect' href CDATA "
               "'@URL@'>]>"
               f"<html {NAMESPACES}><head><link/></head><body><a>link</a></body></html>",
    "attlist-namespace": "<!DOCTYPE x [<!ATTLIST x xmlns CDATA 'http://www.w3.org/1999/xhtml'>"
                         "<!ATTLIST a href CDATA '@URL@'>]><x><body><a>link</a></body></x>",
    "stylesheet": f"<?xml-stylesheet href='@URL@.css' type='text/css'?><html {NAMESPACES}><body>x</body></html>",
    "transform": f"<?xml-stylesheet href='a.xsl' type='text/xsl'?><html {NAMESPACES}><body>x</body></html>",
    "cdata": f"<html {NAMESPACES}><body><![CDATA[<a href='x'>]]><a href='@URL@'>link</a></body></html>",
    "comment": f"<html {NAMESPACES}><body><!--> x --><a href='@URL@'>link</a></body></html>",
    "style": f"<html {NAMESPACES}><head><style><a href='@URL@'>x</a>body{{background:url(@URL@.png)}}</style></head>"
             "<body><textarea><a href='@URL@'>link</a></textarea><a href='@URL@'>link</a></body></html>",
    "script": f"<html {NAMESPACES}><body><script>fetch('@URL@')</script><h:script>fetch('@URL@')</h:script></body>"
              f"</html>",
    "case": f"<html {NAMESPACES}><body><A HREF='@URL@'>x</A><a HREF='@URL@' href='@URL@'>link</a></body></html>",
    "xml-base": f"<html {NAMESPACES} xml:base='@URL@/'><body><a href='b'>link</a></body></html>",
    "broken": f"<html {NAMESPACES}><body><a href='@URL@'>link</a><p></body></html>",
    "frame": f"<html {NAMESPACES}><body><iframe src='@URL@'/><object data='@URL@'/></body></html>",
}, type=XHTML, files={"a.xsl": ("text/xsl", """<xsl:stylesheet version='1.0'
    xmlns:xsl='http://www.w3.org/1999/XSL/Transform'><xsl:import href='@URL@.xsl'/><xsl:template match='/'><html>
    <img src='@URL@.png'/><a href='@URL@'>link</a><xsl:copy-of select="document('@URL@.xml')"/></html></xsl:template>
    </xsl:stylesheet>""")}) + table("svg", {
    "link": f"<s:svg {NAMESPACES}><s:a q:href='@URL@'><s:text y='20'>link</s:text></s:a></s:svg>",
    "default": "<svg xmlns='http://www.w3.org/2000/svg'><a href='@URL@'><text y='20'>link</text></a>"
               "<script>fetch('@URL@')</script><style>@import '@URL@.css';</style><image href='@URL@.png'/></svg>",
    "set": "<svg xmlns='http://www.w3.org/2000/svg'><a href='#'><set attributeName='href' to='@URL@'/>"
           "<text y='20'>link</text></a></svg>",
    "set-prefix": f"<svg xmlns='http://www.w3.org/2000/svg' {NAMESPACES.partition(' ')[2]}><a href='#'>"
                  "<s:set attributeName='q:href' to='@URL@'/><text y='20'>link</text></a></svg>",
    "handler": "<svg xmlns='http://www.w3.org/2000/svg' onload=\"fetch('@URL@')\"><text y='20'>x</text></svg>",
    "foreign": f"<svg xmlns='http://www.w3.org/2000/svg'><foreignObject width='99' height='60'><body {NAMESPACES}>"
               "<a href='@URL@'>link</a><iframe src='@URL@'/><link rel='preconnect' href='@URL@'/></body>"
               "</foreignObject></svg>",
    "stylesheet": "<?xml-stylesheet href='@URL@.css'?><svg xmlns='http://www.w3.org/2000/svg'><text y='20'>x</text>"
                  "</svg>",
}, type=SVG) + table("xml", {
    "html": f"<x {NAMESPACES}><h:a href='@URL@'>link</h:a><h:img src='@URL@.png'/><h:script>fetch('@URL@')"
            f"</h:script></x>",
    "hint": f"<x {NAMESPACES}><h:link rel='preconnect' href='@URL@'/></x>",
    "stylesheet": "<?xml-stylesheet href='@URL@.css' type='text/css'?><x>x</x>",
    "xlink": "<x xmlns:q='http://www.w3.org/1999/xlink' q:type='simple' q:href='@URL@' q:actuate='onLoad'>x</x>",
    "include": "<x xmlns:i='http://www.w3.org/2001/XInclude'><i:include href='@URL@.xml'/></x>",
    "bomb": "<!DOCTYPE x [<!ENTITY a 'xxxxxxxxxx'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY c "
            "'&b;&b;&b;&b;&b;&b;'>"
            "<!ENTITY d '&c;&c;&c;&c;&c;&c;&c;'><!ENTITY e '&d;&d;&d;&d;&d;&d;'><!ENTITY f '&e;&e;&e;&e;&e;&e;'>]>"
            "<x>&f;</x>",
}, type=XML)
