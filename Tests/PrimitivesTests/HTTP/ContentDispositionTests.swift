import Primitives
import Testing

/// Tests of RFC 6266 and RFC 8187.
@Suite struct ContentDispositionTests {
    @Test(
        "The file name is read from each form of Content-Disposition that servers send",
        arguments: [
            ("attachment; filename=report.pdf", "report.pdf"), ("attachment; filename=\"a b.pdf\"", "a b.pdf"),
            ("inline;FileName = \"a;b.pdf\" ; size=3", "a;b.pdf"), ("attachment; filename=\"a\\\"b\"", "a\"b"),
            ("attachment; filename=a; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
            ("attachment; filename*=iso-8859-1'en'%A3.txt; filename=b", "£.txt"),
            ("attachment; filename*=utf-8''%zz; filename=plain.txt", "plain.txt"),
            ("attachment; filename*=koi8-r''%C1; filename=plain.txt", "plain.txt"),
            ("attachment; filename=\"café.txt\"", "café.txt"), ("attachment;filename=a;filename=b", "a"),
            ("attachment; filename=\"open", "open"), ("; filename=x", "x"),
        ])
    func names(value: String, name: String) {
        #expect(ContentDisposition(value).fileName == name)
    }

    @Test(
        "The directories and control characters of a hostile file name are removed",
        arguments: [
            ("attachment; filename=\"../../etc/passwd\"", "passwd"), ("attachment; filename=\"/etc/passwd\"", "passwd"),
            ("attachment; filename=C:\\dir\\a.exe", "a.exe"), ("attachment; filename=\"C:\\dir\\x.txt\"", "x.txt"),
            ("attachment; filename=\"C:\\\\dir\\\\x.txt\"", "x.txt"), ("attachment; filename*=UTF-8''..%2F..%2Fa", "a"),
            ("attachment; filename*=UTF-8''a%0D%0Ab", "ab"),
            ("attachment; filename*=UTF-8''a%E2%80%AEcod.exe", "acod.exe"),
        ])
    func hostile(value: String, name: String) {
        #expect(ContentDisposition(value).fileName == name)
    }

    @Test(
        "A Content-Disposition without a usable file name yields no file name",
        arguments: [
            "", "attachment", "attachment; filename=", "attachment; filename=\"\"", "attachment; filename=..",
            "attachment; filename=a/", "attachment; filename", "filename=x", "attachment; name=x",
        ])
    func none(value: String) {
        #expect(ContentDisposition(value).fileName == nil)
    }
}
