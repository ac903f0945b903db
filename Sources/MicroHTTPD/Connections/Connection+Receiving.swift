import CMicroHTTPD
import Foundation

// What libmicrohttpd reads, on the connection's thread.

extension Connection {
    /// Reads bytes of requests for libmicrohttpd, and looks at them first. `nil` when the client was answered with
    /// ``Daemon/Configuration/refusal``, and libmicrohttpd is to close the connection.
    ///
    /// - Parameter receive: reads bytes to `target`: how many, 0 at their end, less for an error.
    func read(into target: UnsafeMutableRawPointer, by receive: () -> Int) -> Int? {
        // libmicrohttpd reads on only when the head is not whole. One that fits is refused when it is, by the handler;
        // for others the library has a page of its own.
        if requests.isInHead(ofAtLeast: core.configuration.connectionMemory * 3 / 4),
            refuse(isTargetTooLong ? .targetTooLong : .headTooLarge)
        {
            return nil
        }
        let count = receive()
        guard count > 0 else { return count }
        receivedCount.store(receivedCount.load(ordering: .relaxed) &+ UInt64(count), ordering: .relaxed)
        guard core.configuration.isLayoutKnown else { return count }
        if let defect = requests.receive(UnsafeRawBufferPointer(start: target, count: count)) {
            _ = refuse(defect)
            return nil
        }
        return count
    }

    /// Says what is wrong with a request that has no answer yet, past libmicrohttpd. False when there is nothing to
    /// say.
    private func refuse(_ defect: Request.Defect) -> Bool {
        guard let bytes = core.configuration.refusal(defect)?.wireForm(toHead: requests.isForHead) else { return false }
        noteRefusal()
        _ = sendPastLibrary(bytes)
        return true
    }
}
