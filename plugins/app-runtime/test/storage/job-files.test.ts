import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runSvc } from '../../../../test/e2e/run-svc.ts'
import { makeProject } from '../../../../test/e2e/served-project.ts'
import { KEYS, serveS3 } from './s3-server.ts'

t.setTimeout(300_000)

const SOURCE = `
@table type Report { title: str, file: File }

fn store(title: str, text: str) to Result[int] {
    let file = std.files.put(title + ".txt", text)?
    Ok(db.Report.insert({ title: title, file: file }))
}

fn texts() to List[str] {
    db.Report.all().order_by("_id").map(fn(report) match std.files.read(report.file) { Ok(text) => text, Error(reason) => reason })
}

fn main(title: str) to Result[int] {
    let id = store(title, "text of " + title)?
    print(texts().join(", "), std.files.list().len())
    Ok(id)
}

@test fn files_are_stored() {
    assert(store("a", "first") is Ok(1))
    assert(texts() is ["first"])
    assert(std.files.list().len() is 1)
    for report in db.Report.all() {
        assert(std.files.url(report.file).starts_with("/api/files/"))
        let reason = match std.files.delete(report.file) { Ok(_) => "", Error(text) => text }
        assert(reason.ends_with("a row refers to it"))
    }
}

@test fn each_test_begins_without_files() {
    assert(std.files.list().len() is 0)
}
`

const LONE =
  'fn main() to Result[str] {\n  let file = std.files.put("a.txt", "single")?\n  print(std.files.read(file)?)\n  Ok("")\n}\n'

function project(t: Test, source: string, settings = ''): string {
  return makeProject(t, { 'app.vox': source, 'svc.toml': settings })
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(join(folder, '.vox', 'files'), { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(({ name }) => name)
}

const leftFolders = (): string[] => readdirSync(tmpdir()).filter(name => name.startsWith('svc-files-'))

t.test('a program that runs stores files where a served program finds them', async t => {
  const folder = project(t, SOURCE)
  for (const [title, printed] of [
    ['a', 'text of a 1\n'],
    ['b', 'text of a, text of b 2\n']
  ] as const) {
    t.match(await runSvc(folder, ['run', 'app.vox', title]), { code: 0, stdout: printed }, title)
  }
  t.equal(filesIn(folder).length, 2)
})

t.test('a program without tables stores files, too', async t => {
  const folder = project(t, LONE)
  t.match(await runSvc(folder, ['run', 'app.vox']), { code: 0, stdout: 'single\n' })
  t.equal(filesIn(folder).length, 1)
})

t.test('tests store files in a temporary folder', async t => {
  const folder = project(t, SOURCE)
  const before = leftFolders()
  const { code, stdout, stderr } = await runSvc(folder, ['test', 'app.vox'])
  t.equal(code, 0, stdout + stderr)
  t.match(stdout, /2 passed, 0 failed/)
  t.same(leftFolders(), before)
  t.throws(() => filesIn(folder), 'nothing is stored in the project')
})

t.test('a run with a temporary database leaves no file', async t => {
  const folder = project(t, SOURCE)
  const before = leftFolders()
  const ran = await runSvc(folder, ['run', 'app.vox', 'a', '--database', 'memory'])
  t.match(ran, { code: 0, stdout: 'text of a 1\n' })
  t.same(leftFolders(), before)
  t.throws(() => filesIn(folder))
})

t.test('a program that runs uses the configured bucket', async t => {
  const s3 = await serveS3(t)
  const settings = `[plugins.app-runtime.files.s3]
endpoint = "${s3.endpoint}"
bucket = "files"
access_key = "${KEYS.accessKey}"
secret_key = "${KEYS.secretKey}"
`
  const folder = project(t, SOURCE, settings)
  t.match(await runSvc(folder, ['run', 'app.vox', 'a']), { code: 0, stdout: 'text of a 1\n' })
  t.equal(s3.objects.size, 1)
})
