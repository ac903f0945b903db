import CCurl

extension Transfer {
    /// Sets the options of the current hop on a handle that has the common options, and directs the handle's callbacks
    /// to this transfer.
    ///
    /// The handle does not retain the user data; the loop keeps the transfer as long as its handle is in use.
    func configure(
        _ handle: EasyHandle, _ configuration: OriginConfiguration, connections: OriginConnections,
        ftpSockets: FTPSockets
    ) {
        self.connections = connections
        let this = Unmanaged.passUnretained(self).toOpaque()
        handle.set(CURLOPT_URL, url.text)
        if !isFTP { configureRequest(handle, configuration) }
        // Many transfers that start together share a single HTTP/2 connection instead of opening one each. Without TLS
        // they would wait for the first response, only to learn that they cannot share.
        if url.scheme == "https" { handle.set(CURLOPT_PIPEWAIT, 1) }
        if isFTP {
            handle.set(CURLOPT_FILETIME, 1)
            ftpSockets.track(handle)
            self.ftpSockets = ftpSockets
        }
        handle.set(CURLOPT_WRITEDATA, pointer: this)
        handle.set(CURLOPT_HEADERDATA, pointer: this)
        handle.set(CURLOPT_OPENSOCKETDATA, pointer: this)
        handle.set(CURLOPT_PREREQDATA, pointer: this)
        larder_curl_setopt_write(handle.pointer, CURLOPT_WRITEFUNCTION) { bytes, size, count, this in
            switch Transfer.from(this).receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) {
            case .taken: size * count
            case .held: Int(CURL_WRITEFUNC_PAUSE)
            case .failed: Int(CURL_WRITEFUNC_ERROR)
            }
        }
        larder_curl_setopt_write(handle.pointer, CURLOPT_HEADERFUNCTION) { bytes, size, count, this in
            let isTaken = Transfer.from(this).receiveLine(UnsafeRawBufferPointer(start: bytes, count: size * count))
            return isTaken ? size * count : Int(CURL_WRITEFUNC_ERROR)
        }
        larder_curl_setopt_opensocket(handle.pointer) { this, _, address in
            Transfer.from(this).openSocket(address!)
        }
        larder_curl_setopt_prereq(handle.pointer) { this, address, _, port, localPort in
            let mayGoOut = Transfer.from(this).willSendRequest(
                to: address.map { String(cString: $0) } ?? "", port: port, localPort: localPort)
            return mayGoOut ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
        self.handle = handle
    }

    static func from(_ pointer: UnsafeMutableRawPointer?) -> Transfer {
        Unmanaged<Transfer>.fromOpaque(pointer!).takeUnretainedValue()
    }
}
