import Primitives

/// A script that Larder runs in a page, in a world of its own. Its text is a function of options.
package struct PageScript: Sendable {
    /// The expression to evaluate. Its value may be a promise.
    let expression: String

    private init(_ bytes: [UInt8], _ options: JSON) {
        expression = String(decoding: bytes, as: UTF8.self) + "(" + options.text + ")"
    }

    /// Scrolls the page to its end and back, so that the page loads the images that come into view.
    package static func scroll(time: Duration) -> PageScript {
        PageScript(
            PackageResources.scroll_js,
            ["steps": 200, "milliseconds": .number(time.milliseconds), "pause": 60])
    }

    /// The page's document as HTML, for a reader without scripts; `null` when it has more than `limit` characters, when
    /// `time` is over, or when the document is not HTML. `url` is the URL of the response with the document.
    package static func snapshot(url: String, limit: Int, time: Duration) -> PageScript {
        PageScript(
            PackageResources.snapshot_js,
            ["url": .string(url), "limit": .number(limit), "milliseconds": .number(time.milliseconds)])
    }
}
