import CMicroHTTPD
import Foundation

// The bytes that libmicrohttpd reads. Called on the connection's thread.

extension Connection {
    /// Reads bytes of requests for libmicrohttpd, and checks them before libmicrohttpd sees them. Returns `nil` if the
    /// client was answered with ``Daemon/Configuration/refusal`` and libmicrohttpd must close the connection.
    ///
    /// - Parameter receive: reads bytes to `target`. Returns their number, 0 at the end of the stream, or a negative
    ///   number for an error.
    func read(into target: UnsafeMutableRawPointer, by receive: () -> Int) -> Int? {
        // libmicrohttpd reads on only while the head is incomplete. The handler refuses a head that fits into the
        // memory, once it is complete. For a larger head libmicrohttpd would send its own error page, so it is refused
        // here.
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

    /// Sends the refusal of a request that has no answer yet, past libmicrohttpd. Returns false if no refusal is
    /// configured for the defect.
    private func refuse(_ defect: Request.Defect) -> Bool {
        guard let bytes = core.configuration.refusal(defect)?.wireForm(toHead: requests.isForHead) else { return false }
        noteRefusal()
        _ = sendPastLibrary(bytes)
        return true
    }
}
