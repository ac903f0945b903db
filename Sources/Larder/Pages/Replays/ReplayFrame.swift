import Crypto
import Foundation
import HTTPTypes
import Primitives

/// The document around a replay: a banner that says when the page was captured and how much of it is missing, and the
/// captured page in a frame. It has no scripts.
struct ReplayFrame {
    let text: String
    let fields: HTTPFields

    private static let style = """
        html,body{margin:0;height:100%}
        body{display:flex;flex-direction:column;font:14px/1.4 system-ui,sans-serif;color:#1b1b1b;background:#fff}
        header{display:flex;flex-wrap:wrap;gap:.25rem 1rem;padding:.4rem .8rem;background:#f1efe9;\
        border-bottom:1px solid #c9c4b8}
        h1{flex:1 1 14rem;margin:0;font-size:1em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
        p{margin:0}
        a{color:#0b57d0}
        main{flex:1;display:flex}
        iframe{flex:1;border:0}
        @media(prefers-color-scheme:dark){header{background:#26251f;border-color:#46433a}\
        body{color:#ededed;background:#161512}a{color:#8ab4f8}}
        """

    init(_ capture: PageManifest.Capture, at place: ReplayPlace) {
        let escaped = ReplayAnswer.escaped
        let url = escaped(capture.finalURL)
        let title = escaped(capture.title.flatMap { $0.isEmpty ? nil : $0 } ?? capture.finalURL)
        let count = capture.missing
        let missing = count == 0 ? "" : "<p>\(count) \(count == 1 ? "resource is" : "resources are") missing</p>"
        let limited = capture.isLimited ? "<p>a limit cut the capture short</p>" : ""
        let date = capture.startDate.rfc3339
        text = """
            <!doctype html><html lang="en"><meta charset="utf-8">\
            <meta name="viewport" content="width=device-width"><title>\(title)</title><style>\(Self.style)</style>\
            <header><h1>\(title)</h1><p>Captured <time datetime="\(date)">\(date)</time></p>\(missing)\(limited)\
            <p><a href="\(url)" rel="noreferrer">Live page</a></p></header>\
            <main><iframe src="\(escaped(place.path + capture.finalURL))" title="The captured page"></iframe></main></html>

            """
        var fields: HTTPFields = [.contentType: "text/html; charset=utf-8"]
        for (name, value) in ReplayAnswer.confinement { fields[HTTPField.Name(name)!] = value }
        // The banner is Larder's own document, so no other origin may read it.
        fields[HTTPField.Name("Access-Control-Allow-Origin")!] = nil
        fields[HTTPField.Name("Cross-Origin-Resource-Policy")!] = "same-origin"
        let digest = Data(SHA256.hash(data: Data(Self.style.utf8))).base64EncodedString()
        fields[ReplayAnswer.csp] = """
            default-src 'none'; style-src 'sha256-\(digest)'; frame-src \(place.host)\(place.path); base-uri 'none'; \
            form-action 'none'; frame-ancestors 'self'
            """
        self.fields = fields
    }
}
