import LarderClient
import Primitives

struct WarmProgress {
    var tally: WarmTally
    var elapsed: Duration
    var running: [RunningDownload]

    /// The whole run, and the largest running download.
    func lines(width: Int) -> [String] {
        var lines = [whole.text(width: width)]
        if let largest = running.max(by: { $0.size < $1.size }) { lines.append(largest.progress(width: width)) }
        return lines
    }

    private var whole: ProgressLine {
        let fraction = tally.total == 0 ? 1 : Double(tally.ended) / Double(tally.total)
        let bytes = running.reduce(tally.bytes) { $0.addingClamped($1.receivedBytes) }
        var details = [tally.counts]
        if let left { details.append("\(Words.duration(left)) left") }
        if elapsed > .zero { details.append("\(Words.bytes(Double(bytes) / elapsed.inSeconds))/s") }
        return ProgressLine(
            title: "\(tally.ended)/\(tally.total)  \(Words.percent(fraction))", fraction: fraction,
            details: details.filter { !$0.isEmpty })
    }

    /// Assumes that the origins are contacted for all remaining URLs at the same pace; `nil` without a basis.
    private var left: Duration? {
        guard tally.asked > 0, tally.ended < tally.total else { return nil }
        return .seconds(elapsed.inSeconds * Double(tally.total - tally.ended) / Double(tally.asked))
    }
}

extension RunningDownload {
    /// The largest known size of the download, in bytes.
    fileprivate var size: Int64 { max(totalBytes ?? 0, receivedBytes) }

    func progress(width: Int) -> String {
        let fraction = totalBytes.map { $0 == 0 ? 1 : Double(receivedBytes) / Double($0) }
        var amount = Words.bytes(receivedBytes)
        if let totalBytes, let fraction { amount = "\(Words.percent(fraction)) of \(Words.bytes(totalBytes))" }
        let title = LogText.words(url).shortened(to: max(12, width / 3))
        return ProgressLine(
            title: title, fraction: fraction, details: [amount, "\(Words.bytes(bytesPerSecond))/s"]
        ).text(width: width)
    }
}
