import Testing

@testable import WebArchive

@Suite("The imports of JavaScript modules, and the images of manifests")
struct ModuleReferencesTests {
    @Test(
        "Each import by a string is found, and other text is no import",
        arguments: [
            ("import a from './a.js'", "./a.js"), ("import {a as b} from \"./a.js\";", "./a.js"),
            ("import './a.js'", "./a.js"),
            ("import*as a from'./a.js';import'./b.js'", "./a.js|./b.js"), ("export {a} from './a.js'", "./a.js"),
            ("export * from './a.js'", "./a.js"), ("const a = await import('./a.js')", "./a.js"),
            ("import(\n'./a.js')", "./a.js"),
            ("import(`./a.js`)", ""), ("import(a)", ""), ("a.import('./a.js')", ""), ("// import './a.js'", ""),
            ("/* import './a.js' */", ""), ("\"import './a.js'\"", ""), ("`import './a.js'`", ""),
            ("`${import('./a.js')}`", "./a.js"),
            ("`${{a:`${1}`}}` ; import './a.js'", "./a.js"), ("/import '.\\/a.js'/", ""),
            ("a = b / c; import './a.js' / d", "./a.js"),
            ("/[/]'/; import './a.js'", "./a.js"),
            ("if (a) /'/.test(b); import './a.js'", "./a.js"), ("f(a) / 'b'; import './a.js' / c", "./a.js"),
            ("while (a[(0)]) /'/.test(b); import './a.js'", "./a.js"), (") / 1; import './a.js'", "./a.js"),
            ("import.meta.url + './a.js'", ""), ("Array.from('./a.js')", ""),
            ("import './a.js';import './a.js'", "./a.js"), ("return /'/; import './a.js'", "./a.js"),
            ("import a from './a", "./a"),
            ("import '\\", "\\"), ("`${", ""), ("/", ""), ("'", ""), ("}`", ""),
        ])
    func specifiers(module: String, expected: String) {
        #expect(ModuleReferences.specifiers(in: Array(module.utf8).span).joined(separator: "|") == expected)
    }

    @Test("The icons, screenshots and icons of shortcuts of a manifest are found")
    func manifest() {
        let manifest = """
            {"icons": [{"src": "a.png"}, {"sizes": "any"}], "screenshots": [{"src": "b.png"}], "name": "x",
             "shortcuts": [{"icons": [{"src": "c.png"}]}, 1]}
            """
        #expect(ManifestReferences.urls(in: Array(manifest.utf8)) == ["a.png", "b.png", "c.png"])
        #expect(ManifestReferences.urls(in: Array("[]".utf8)) == [])
        #expect(ManifestReferences.urls(in: Array("{".utf8)) == [])
    }
}
