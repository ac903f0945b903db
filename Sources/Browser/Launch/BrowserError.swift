/// The reason for which a browser cannot show a page.
package enum BrowserError: Error, Hashable, Sendable {
    /// Chromium could not be started, for a reason in words.
    case start(String)
    /// The browser has ended.
    case ended
    /// The browser did not answer in time; with the method of the command.
    case timedOut(String)
    /// The browser refused a command; with the method and the browser's words.
    case refused(String, String)
    /// The page's process has ended.
    case crashed
}

extension BrowserError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .start(let reason): "the browser could not be started: \(reason)"
        case .ended: "the browser ended"
        case .timedOut(let method): "the browser did not answer \(method) in time"
        case .refused(let method, let reason): "the browser refused \(method): \(reason)"
        case .crashed: "the page crashed"
        }
    }
}
