import Foundation
import Primitives

enum Words {
    /// `512 B`, `1.5 KiB`, `12.0 MiB`, `345 GiB`.
    static func bytes(_ count: Double) -> String {
        guard count >= 1024 else { return "\(count > 0 ? Int(count) : 0) B" }
        var value = count
        for unit in ["KiB", "MiB", "GiB", "TiB"] {
            value /= 1024
            let rounded = value < 99.95 ? (value * 10).rounded() / 10 : value.rounded()
            if rounded < 1024 { return rounded < 100 ? "\(rounded) \(unit)" : "\(Int(rounded)) \(unit)" }
        }
        return "\(Int(min(value / 1024, 1e6).rounded())) PiB"
    }

    static func bytes(_ count: Int64) -> String { bytes(Double(count)) }
    /// A fraction from 0 to 1 as `12 %`, rounded down, so that only 1 is `100 %`.
    static func percent(_ fraction: Double) -> String { "\(Int(min(max(fraction, 0), 1) * 100)) %" }

    /// `42 s`, `1 min 3 s`, `2 h`, `3 d 4 h`: the `parts` largest units that are not zero; `0 s` below a second.
    static func duration(_ duration: Duration, parts: Int = 2) -> String {
        var rest = max(duration.milliseconds, 0) / 1000
        var words: [String] = []
        for (unit, seconds) in [("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)] as [(String, Int64)] {
            let count = rest / seconds
            rest %= seconds
            if count > 0 { words.append("\(count) \(unit)") }
        }
        return words.isEmpty ? "0 s" : words.prefix(parts).joined(separator: " ")
    }

    /// Relative to `now`: `in 59 min`, `3 h ago`; the text itself when it is no time in the API's form.
    static func instant(_ rfc3339: String, now: Date) -> String {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        // The formatter traps on a fraction of a second with very many digits; the API writes three digits.
        guard rfc3339.utf8.count <= 35, let date = formatter.date(from: rfc3339) else { return rfc3339 }
        let distance = date.timeIntervalSince(now)
        let text = duration(.clamping(seconds: abs(distance)), parts: 1)
        return distance < 0 ? "\(text) ago" : "in \(text)"
    }
}
