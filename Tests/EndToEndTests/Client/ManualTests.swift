import Foundation
import TestSupport
import Testing

@Suite("The manual page and completions of the executable")
struct ManualTests {
    @Test("The manual page names commands, variables and sections, and groff formats the page without warnings")
    func manual() async throws {
        let larder = ClientCommands(server: "http://127.0.0.1:1")
        let page = try await larder.run(["manual"])
        #expect(page.exit == .status(0))
        let directory = try TemporaryDirectory()
        let path = try directory.write(page.bytes, to: "larder.1")
        // With `-ww`, groff warns about all input that it does not understand.
        let shown = try await blocking { try ChildProcess.run("groff", ["-man", "-Tascii", "-P-cbou", "-ww", path]) }
        #expect(shown.exit == .status(0))
        for words in ["larder download", "larder token create", "LARDER_TOKEN", "NAME", "COMMANDS"] {
            #expect(shown.text.contains(words), "\(words)")
        }
        #expect(!shown.text.contains("warning:") && !shown.text.contains("error:"), "\(shown.text)")
    }

    @Test(
        "For each shell, the executable prints a script that completes command lines",
        arguments: ["bash", "zsh", "fish"])
    func completions(shell: String) async throws {
        let larder = ClientCommands(server: "http://127.0.0.1:1")
        let script = try await larder.run(["--generate-completion-script", shell])
        #expect(script.exit == .status(0))
        for word in ["download", "explain", "stale-if-error"] { #expect(script.text.contains(word)) }
        guard shell == "bash" else { return }
        let directory = try TemporaryDirectory()
        let path = try directory.write(script.bytes, to: "larder.bash")
        // The completions that bash offers for "larder wa" after it has read the script.
        let asking = """
            source "$1"
            COMP_WORDS=(larder wa) COMP_CWORD=1 COMP_LINE="larder wa" COMP_POINT=9
            _larder larder wa larder
            echo "${COMPREPLY[@]}"
            """
        let offered = try await blocking {
            try ChildProcess.run("bash", ["--norc", "-c", asking, "bash", path])
        }
        #expect(offered.text.contains("warm") && offered.text.contains("watch"), "\(offered.text)")
    }
}
