import Foundation
import Primitives
import Testing

@testable import LarderCommand

@Suite("The manual page")
struct ManualPageTests {
    private static let page = Result { try ManualPage(dump: LarderCommand._dumpHelp(), version: "1.2.3").text }

    /// The names of the commands without subcommands and of their long options, as the argument parser lists them.
    private static func commands(in command: JSON, path: String) -> [(name: String, options: [String])] {
        let name = [path, command["commandName"]?.stringValue ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
        let subcommands = (command["subcommands"]?.arrayValue ?? []).filter {
            $0["shouldDisplay"] == true && $0["commandName"] != "help"
        }
        guard subcommands.isEmpty else { return subcommands.flatMap { commands(in: $0, path: name) } }
        let names = (command["arguments"]?.arrayValue ?? []).flatMap { $0["names"]?.arrayValue ?? [] }
        return [(name, names.filter { $0["kind"] == "long" }.compactMap { $0["name"]?.stringValue })]
    }

    @Test("The manual page lists every command with every option")
    func complete() throws {
        let page = try Self.page.get()
        let root = try #require(try JSON(parsing: LarderCommand._dumpHelp())["command"])
        let commands = Self.commands(in: root, path: "")
        #expect(commands.count >= 14)
        for command in commands {
            let section = try #require(
                page.components(separatedBy: "\n.SS ").first { $0.hasPrefix(command.name + "\n") }, "\(command.name)")
            for option in command.options where option != "help" && option != "version" {
                #expect(section.contains("\\-\\-" + option.replacing("-", with: "\\-")), "\(command.name) --\(option)")
            }
        }
        #expect(!page.contains(".SS larder manual"))
        #expect(page.contains("LARDER_TOKEN") && page.contains("1.2.3"))
    }

    @Test("Leading dots and quotes, hyphens and backslashes of the texts are escaped for roff")
    func roff() throws {
        let dump = #"""
            {"command": {"commandName": "tool", "abstract": "Does -x.", "discussion": ".hidden\n'quoted\n\nback\\slash",
              "arguments": [], "subcommands": [
                {"commandName": "do", "abstract": "It.", "shouldDisplay": true, "arguments": [
                  {"kind": "positional", "valueName": "file", "isOptional": true, "isRepeating": true,
                   "shouldDisplay": true, "abstract": "What."},
                  {"kind": "option", "valueName": "n", "names": [{"kind": "long", "name": "num"},
                   {"kind": "short", "name": "n"}], "shouldDisplay": true, "abstract": "How many.",
                   "defaultValue": "3"}]},
                {"commandName": "secret", "abstract": "It.", "shouldDisplay": false}]}}
            """#
        let expected = #"""
            .TH TOOL 1 "" "tool 9" "User Commands"
            .SH NAME
            tool \- Does \-x.
            .SH SYNOPSIS
            \fBtool\fR \fIcommand\fR [\fIoptions\fR]
            .SH DESCRIPTION
            \&.hidden
            .br
            \&'quoted
            .PP
            back\eslash
            .SH OPTIONS
            .SH COMMANDS
            .SS tool do
            It.
            .PP
            \fBtool do\fR [\fIoptions\fR] [\fIfile\fR ...]
            .TP
            \fIfile\fR
            What.
            .TP
            \fB\-n\fR, \fB\-\-num\fR \fIn\fR
            How many. (default: 3)

            """#
        #expect(try ManualPage(dump: dump, version: "9").text == expected)
    }
}
