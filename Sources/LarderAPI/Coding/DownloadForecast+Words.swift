import Larder
import Primitives

extension DownloadForecast {
    var detail: String {
        switch reason {
        case .fresh: "the entry is fresh until \(entry?.expiryDate.rfc3339 ?? "")"
        case .downloading: "a download of the URL is running, and a request would join it"
        case .stale:
            "the entry expired at \(entry?.expiryDate.rfc3339 ?? ""); "
                + (entry?.hasValidator == true
                    ? "a request would revalidate it with the origin" : "its body would be downloaded again")
        case .absent: "the cache has no entry for this URL; a request would download it"
        case .refused: refusal.map { Problem($0).detail } ?? ""
        }
    }
}
