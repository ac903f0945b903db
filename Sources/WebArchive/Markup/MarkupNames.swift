/// The elements that change how a document is read, or that refer to other resources.
enum MarkupElement: String, CaseIterable, Sendable {
    case a, area, audio, base, body, button, embed, form, frame, iframe, image, img, input, link, meta, object
    case script, source, style, table, td, th, title, track, use, video, xmp
    case feImage = "feimage"
    case set, animate
    case math, svg, foreignObject = "foreignobject", desc, annotationXML = "annotation-xml"
    case mi, mo, mn, ms, mtext, mglyph, malignmark
    case noembed, noframes, plaintext, textarea, template, noscript
    case b, big, blockquote, br, center, code, dd, div, dl, dt, em, h1, h2, h3, h4, h5, h6, head, hr, i, li, listing
    case menu, nobr, ol, p, pre, ruby, s, small, span, strong, strike, sub, sup, tt, u, ul
    case `var`, font
    case address, article, aside, details, dialog, fieldset, figcaption, figure, footer, header, hgroup, label, legend
    case main, nav, option, section, select, summary, tbody, tfoot, thead, tr, caption, colgroup, col
    case frameset, basefont, bgsound, keygen, param, wbr

    /// Whether a start tag leaves foreign content (WHATWG HTML §13.2.6.5). `font` leaves it only with some attributes.
    var leavesForeignContent: Bool {
        switch self {
        case .b, .big, .blockquote, .body, .br, .center, .code, .dd, .div, .dl, .dt, .em, .embed, .h1, .h2, .h3, .h4,
            .h5, .h6, .head, .hr, .i, .img, .li, .listing, .menu, .meta, .nobr, .ol, .p, .pre, .ruby, .s, .small, .span,
            .strong, .strike, .sub, .sup, .table, .tt, .u, .ul, .var:
            true
        default: false
        }
    }

    /// Whether the element has no end tag.
    var isVoid: Bool {
        switch self {
        case .area, .base, .basefont, .bgsound, .br, .col, .embed, .hr, .image, .img, .input, .keygen, .link, .meta,
            .param, .source, .track, .wbr:
            true
        default: false
        }
    }

    /// Whether the content of an HTML element is text, so that it contains no tags but the element's own end tag.
    var hasRawText: Bool {
        switch self {
        case .script, .style, .title, .textarea, .xmp, .iframe, .noembed, .noframes, .plaintext: true
        default: false
        }
    }
}

/// The attributes that refer to other resources, or that change the meaning of such attributes. At most 64.
enum MarkupAttribute: String, CaseIterable, Sendable {
    case action, attributeName = "attributename", background, charset, color, content, crossorigin, data, encoding,
        face, fill, filter, href
    case formaction, imagesrcset, integrity, csp, lowsrc, mask, name, ping, poster, rel, size, src, srcdoc, srcset
    case stroke, style, type
    case referrerPolicy = "referrerpolicy"
    case attributionSource = "attributionsrc"
    case httpEquiv = "http-equiv"
    case xlinkHref = "xlink:href"
    case clipPath = "clip-path"
    case cursor
    case markerStart = "marker-start"
    case markerMid = "marker-mid"
    case markerEnd = "marker-end"
    case dataSrc = "data-src"
    case dataSrcset = "data-srcset"
    case dataLazySrc = "data-lazy-src"
    case dataOriginal = "data-original"
    case to, from, by, values

    /// The name in XML, which tells upper and lower case apart.
    var xmlName: String { self == .attributeName ? "attributeName" : rawValue }
}
