import DiskCache
import Larder
import Primitives

extension DownloadForecast {
    /// The reason for the forecast, in words for people.
    var detail: String {
        switch reason {
        case .fresh: "the entry is fresh until \(entry?.expiryDate.rfc3339 ?? "")"
        case .downloading: "it is being downloaded, and a request would wait for that"
        case .stale:
            "the entry expired at \(entry?.expiryDate.rfc3339 ?? ""); the origin would be asked "
                + (entry?.hasValidator == true ? "whether it changed" : "for all of it")
        case .absent: "nothing is held for this URL; it would be downloaded"
        case .refused: refusal.map { Problem($0).detail } ?? ""
        }
    }
}
