import HTTPTypes
import Primitives
import TestSupport

/// The calls of a worker about its own namespace.
extension SoakOwner {
    /// Creates the namespace. Blocks until the namespace exists, or the run ends.
    func make(_ namespace: String) {
        let what = "PUT of namespace \(namespace)"
        while !run.ending.isOpen {
            let change: JSON = ["diskLimit": "4MiB", "memoryLimit": "1MiB"]
            if conclude([], client.ask("PUT", "/namespaces/\(namespace)", json: change), what) != nil { return }
            run.pause(milliseconds: 20)
        }
    }

    /// Empties the namespace by a new version, removes it, or looks for its entries in the default namespace.
    func live(in namespace: String, _ name: SoakName) {
        switch random.next() % 8 {
        case 0: removeNamespace(namespace)
        case 1...3: beginAnew(namespace)
        default: lookFromOutside(name)
        }
    }

    /// Sets another version, and expects that the namespace has no entry right after the response.
    private func beginAnew(_ namespace: String) {
        let texts = names.map(\.text)
        let version = newVersion()
        run.model.withLock { $0.begin(texts, .remove) }
        let what = "version \(version) of namespace \(namespace)"
        let change: JSON = ["version": .number(version)]
        guard let reply = conclude(names, client.ask("PUT", "/namespaces/\(namespace)", json: change), what) else {
            return
        }
        run.model.withLock { $0.end(texts, .done) }
        run.tally.count("namespaces begun anew")
        if (try? reply.member("entries"))?.doubleValue != 0 { fail("\(what): entries are left: \(reply.text)") }
        guard case .value(let list) = client.ask("GET", "/entries?limit=1"), list.status == 200 else { return }
        if (try? list.member("entries"))?.arrayValue?.isEmpty != true { fail("\(what): entries: \(list.text)") }
    }

    /// Removes the namespace with all its entries, and then creates it again.
    private func removeNamespace(_ namespace: String) {
        let texts = names.map(\.text)
        run.model.withLock { $0.begin(texts, .remove) }
        let what = "DELETE of namespace \(namespace)"
        if conclude(names, client.ask("DELETE", "/namespaces/\(namespace)"), what) != nil {
            run.model.withLock { $0.end(texts, .done) }
            run.tally.count("namespaces removed")
        }
        make(namespace)
    }

    /// Expects that the default namespace has no entry, because no worker stores under these keys and URLs there.
    private func lookFromOutside(_ name: SoakName) {
        let path = "/entries/\(key(of: name))/content?stale=true"
        let what = "look for \(name.text) in the default namespace"
        let fields = SoakClient.fields(of: "default")
        guard let reply = conclude([], client.ask("GET", path, fields: fields), what, [200, 404]) else { return }
        if reply.status == 200 { fail("\(what): \(reply.head)") }
    }
}
