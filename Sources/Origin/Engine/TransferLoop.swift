import CCurl
import Glibc
import Primitives

/// The work of a client thread: a multi handle of libcurl, the transfers of the thread, and their time limits.
///
/// Invariant: only this thread uses the state here; other threads use the inbox. A transfer is in `transfers` from its
/// start to the call of `originDidFinish`; ``AnsweredTransfers`` may keep it until the next `tellPause`. The handle of
/// a transfer is in the multi handle exactly while the transfer is in `active`.
final class TransferLoop {
    private let inbox: Inbox
    private let multi: UnsafeMutableRawPointer
    private var transfers: [UInt64: Transfer] = [:]
    private var active: [UnsafeMutableRawPointer: Transfer] = [:]
    private var urls = KnownURLs()
    private var idleHandles: IdleHandles
    private let places: TransferPlaces
    /// Whether a running transfer has left its place since places were last given to waiting transfers.
    private var hasFreedPlace = false
    private let resources: TransferResources
    private var configuration: OriginConfiguration { resources.configuration }
    private var timer: LoopTimer { resources.timer }

    init(
        configuration: OriginConfiguration, inbox: Inbox, places: TransferPlaces, multi: UnsafeMutableRawPointer
    ) {
        self.inbox = inbox
        self.multi = multi
        resources = TransferResources(configuration)
        idleHandles = IdleHandles(configuration)
        self.places = places
        // The number of idle connections that stay open for later transfers.
        let connections = (configuration.maxTransfers + configuration.threads - 1) / configuration.threads
        larder_curl_multi_setopt_long(multi, CURLMOPT_MAXCONNECTS, connections)
    }

    func run() {
        setUpThread()
        var isRunning = true
        while isRunning {
            for command in inbox.takeAll() where !perform(command) { isRunning = false }
            startWaiting()
            checkDeadlines()
            var count: Int32 = 0
            curl_multi_perform(multi, &count)
            let didFinish = finishDone()
            for transfer in resources.answered.tellPause() { fail(transfer, transfer.current.failure ?? .transfer) }
            // If a transfer ended or left its place, waiting transfers can start now, so the loop does not wait.
            if isRunning && !didFinish && !hasFreedPlace { curl_multi_poll(multi, nil, 0, pollTime(), nil) }
        }
        end()
    }

    private func perform(_ command: Inbox.Command) -> Bool {
        switch command {
        case .start(let control, let request, let receiver): start(control, request, receiver)
        // If the transfer has ended already, its place is free again.
        case .run(let id): if let transfer = transfers[id] { run(transfer) }
        case .cancel(let id, let onlyIfWaiting):
            if let transfer = transfers[id], !onlyIfWaiting || transfer.startedAt == nil { fail(transfer, .cancelled) }
        case .wake(let id): if let transfer = transfers[id] { wake(transfer) }
        case .shutDown: return false
        }
        return true
    }

    private func start(_ control: OriginTransfer, _ request: OriginRequest, _ receiver: any OriginReceiver) {
        do throws(OriginError) {
            let url = try request.checkedURL(configuration, known: &urls)
            // A body that has failed already could not wake its transfer, because the transfer did not exist yet.
            if let words = request.body?.failure { throw OriginError(.uploadBroken(words)) }
            let transfer = Transfer(
                control: control, request: request, receiver: receiver, url: url, resources: resources)
            try transfer.announce()
            transfers[control.id] = transfer
            enqueue(transfer)
        } catch {
            request.body?.close()
            inbox.noteEnd()
            receiver.originDidFinish(.failure(error))
        }
    }

    private func wake(_ transfer: Transfer) {
        if let words = transfer.request.body?.failure { return fail(transfer, .uploadBroken(words)) }
        let code = transfer.goOn()
        // The stall limit starts again, because the pause is over.
        timer.note(deadline(of: transfer))
        guard code != CURLE_OK else { return }
        // A callback failed, for example because the receiver threw an error.
        let outcome = transfer.outcome(of: code)
        release(transfer)
        goOn(transfer, outcome)
    }

    private func startWaiting() {
        hasFreedPlace = false
        for id in places.giveTurns(in: inbox) {
            guard let transfer = transfers[id] else { preconditionFailure("the queue has a transfer that is over") }
            run(transfer)
        }
    }

    private func run(_ transfer: Transfer) {
        transfer.startedAt = timer.now
        tryOnce(transfer)
    }

    private func tryOnce(_ transfer: Transfer) {
        transfer.retryAt = nil
        do throws(OriginError) {
            // The receiver may have learned during the wait that the origin must not be asked.
            try transfer.announce()
        } catch {
            return finish(transfer, .failure(error))
        }
        let handle = idleHandles.take()
        transfer.configure(handle)
        transfer.begin()
        active[handle.pointer] = transfer
        let code = curl_multi_add_handle(multi, handle.pointer)
        precondition(code == CURLM_OK, "curl_multi_add_handle: \(String(cString: curl_multi_strerror(code)))")
        timer.note(deadline(of: transfer))
    }

    /// Handles the transfers that libcurl has finished. Returns whether there were any.
    private func finishDone() -> Bool {
        var done: [(Transfer, CURLcode)] = []
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let transfer = active[message.pointee.easy_handle] else {
                continue
            }
            done.append((transfer, message.pointee.data.result))
        }
        for (transfer, code) in done {
            let outcome = transfer.outcome(of: code)
            let handle = transfer.handle
            if case .redirect = outcome { transfer.keepCookies() }
            release(transfer)
            if case .complete = outcome, transfer.isPlain, let handle { idleHandles.keep(handle) }
            goOn(transfer, outcome)
        }
        return !done.isEmpty
    }

    private func goOn(_ transfer: Transfer, _ outcome: Transfer.Outcome) {
        switch outcome {
        case .complete(let summary): finish(transfer, .success(summary))
        case .redirect(let location): redirect(transfer, to: location)
        case .again: tryOnce(transfer)
        case .failed(let error, let isEarly):
            guard isEarly, error.isWorthRetrying,
                let delay = configuration.retry.delay(afterFailures: transfer.failedTries + 1)
            else { return finish(transfer, .failure(error)) }
            transfer.failedTries += 1
            transfer.retryAt = timer.now + delay
            timer.note(deadline(of: transfer))
        }
    }

    private func redirect(_ transfer: Transfer, to location: [UInt8]) {
        let previous = transfer.url.origin
        do {
            try transfer.follow(location)
        } catch {
            return finish(transfer, .failure(error))
        }
        if transfer.url.origin == previous { return tryOnce(transfer) }
        // Another origin has its own limit, so the transfer waits again. Its time limit stops during the wait.
        if let startedAt = transfer.startedAt { transfer.timeLeft -= timer.now - startedAt }
        transfer.startedAt = nil
        leavePlace(transfer)
        enqueue(transfer, first: true)
    }

    private func enqueue(_ transfer: Transfer, first: Bool = false) {
        transfer.queuedAt = timer.now
        places.enqueue(transfer.id, host: transfer.url.origin, first: first)
        timer.note(deadline(of: transfer))
    }

    /// Takes the handle back from libcurl. libcurl closes the connection unless the response was read completely.
    private func release(_ transfer: Transfer) {
        transfer.current.phase = .idle
        guard let handle = transfer.handle else { return }
        transfer.handle = nil
        active[handle.pointer] = nil
        curl_multi_remove_handle(multi, handle.pointer)
    }

    private func leavePlace(_ transfer: Transfer) {
        places.remove(transfer.id)
        hasFreedPlace = true
    }

    private func fail(_ transfer: Transfer, _ kind: OriginError.Kind) {
        finish(transfer, .failure(OriginError(kind)))
    }

    private func finish(_ transfer: Transfer, _ result: Result<OriginSummary, OriginError>) {
        release(transfer)
        leavePlace(transfer)
        transfers[transfer.id] = nil
        inbox.noteEnd()
        transfer.request.body?.close()
        transfer.receiver.originDidFinish(result)
    }

    /// The time at which the loop must check the transfer if no event comes earlier; `nil` for no such time.
    private func deadline(of transfer: Transfer) -> Transfer.Instant? {
        guard let startedAt = transfer.startedAt else {
            return configuration.queueTimeout.map { transfer.queuedAt + $0 }
        }
        let total = startedAt + transfer.timeLeft
        if let retryAt = transfer.retryAt { return min(retryAt, total) }
        switch transfer.current.phase {
        case .idle: return nil
        // libcurl itself limits the time for connecting. The total time limits the wait for a shared connection.
        case .connecting: return total
        case .waiting, .receiving:
            return transfer.isHolding ? total : min(total, transfer.lastProgress + configuration.stallTimeout)
        }
    }

    /// Checks all transfers when the earliest noted deadline has passed. Progress postpones deadlines without a note.
    private func checkDeadlines() {
        let now = timer.now
        guard timer.isDue(now) else { return }
        for transfer in Array(transfers.values) {
            guard let deadline = deadline(of: transfer) else { continue }
            if deadline > now { timer.note(deadline) } else { expire(transfer, now) }
        }
    }

    private func expire(_ transfer: Transfer, _ now: Transfer.Instant) {
        guard let startedAt = transfer.startedAt else { return fail(transfer, .timedOut(.queued)) }
        guard now < startedAt + transfer.timeLeft else { return fail(transfer, .timedOut(.total)) }
        if transfer.retryAt != nil { return tryOnce(transfer) }
        if let location = transfer.current.redirection {
            transfer.keepCookies()
            release(transfer)
            return redirect(transfer, to: location)
        }
        fail(transfer, .timedOut(transfer.current.phase == .waiting ? .waiting : .receiving))
    }

    /// The longest sleep in milliseconds. libcurl's own timers can end the sleep earlier.
    private func pollTime() -> Int32 {
        guard let next = timer.next else { return 60_000 }
        return Int32(min(max(timer.now.duration(to: next).milliseconds + 1, 0), 60_000))
    }

    private func setUpThread() {
        // With CURLOPT_NOSIGNAL, libcurl leaves SIGPIPE to the application. OpenSSL raises SIGPIPE on writes.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        // libcurl reads non-ASCII host names in the encoding of the locale.
        if let locale = UTF8Locale.locale { uselocale(locale) }
    }

    private func end() {
        for command in inbox.takeAll(closing: true) { _ = perform(command) }
        for transfer in Array(transfers.values) { fail(transfer, .cancelled) }
        _ = resources.answered.tellPause()
        resources.ftpSockets.interrupt()
        curl_multi_cleanup(multi)
    }
}
