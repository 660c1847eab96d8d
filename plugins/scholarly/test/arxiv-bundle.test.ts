import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { list } from 'tar'
import { arxivAssist, type BundleFile, checkDocument, checkLayout, createBundle, Findings, readHandoff } from '#arxiv'
import './built-worker.ts'
import { arxivWork, PNG } from './arxiv-samples.ts'
import { Attempts, partsWith } from './deposit-kit.ts'

const SIGNAL = new AbortController().signal

function project(t: Test): string {
  return t.testdir({ docs: { 'paper.md': '# Paper', figures: { 'plot.png': PNG } } })
}

t.test('the bundle is in the staging folder, and the same content gives the same bytes', async t => {
  const root = project(t)
  const parts = partsWith({ arxiv_staging_dir: 'out/arxiv' }, root)
  const manifest = arxivWork()
  const attempts = new Attempts()
  const plan = await arxivAssist(parts).plan(manifest, SIGNAL)
  t.match(plan.steps, [/main\.tex, arxiv_bundle\.tar\.gz and arxiv_handoff\.json/, /by hand/])
  const receipt = await arxivAssist(parts).submit(manifest, attempts.context())
  t.match(receipt, {
    adapter: 'arxiv_assist',
    status: 'bundle_ready',
    external_submission_id: /^arxiv-[0-9a-f]{12}-v1$/
  })
  const folder = join(root, 'out/arxiv')
  t.same((await readdir(folder)).sort(), ['arxiv_bundle.tar.gz', 'arxiv_handoff.json', 'main.tex'])
  const archive = join(folder, 'arxiv_bundle.tar.gz')
  const first = await readFile(archive)
  const entries: object[] = []
  await list({
    file: archive,
    onReadEntry: ({ path, mode, mtime, uid }) => entries.push({ path, mode, mtime: mtime?.toISOString(), uid })
  })
  t.match(entries, [
    { path: 'figures/fig1.png', mode: 0o644, mtime: '2020-01-01T00:00:00.000Z' },
    { path: 'main.tex', mode: 0o644, mtime: '2020-01-01T00:00:00.000Z' }
  ])
  t.match(JSON.parse(await readFile(join(folder, 'arxiv_handoff.json'), 'utf8')), {
    schema_version: 1,
    publication_id: manifest.publication_id,
    content_sha3_256: manifest.content_sha3_256,
    title: 'Exactly-once submission of research',
    authors: 'Ada Lovelace, Pál Erdős',
    comments: '12 pages, 1 figure',
    primary_category: 'cs.DC',
    categories: ['cs.DL'],
    license: { spdx: 'CC-BY-4.0', url: 'http://creativecommons.org/licenses/by/4.0/' },
    bundle: plan.files.at(-1),
    files: plan.files.slice(0, -1)
  })
  await rm(folder, { recursive: true })
  await arxivAssist(parts).submit(manifest, new Attempts().context())
  t.ok(first.equals(await readFile(archive)), 'the same bytes')

  const status = async () =>
    (await arxivAssist(parts).fetchStatus(receipt.external_submission_id, attempts.context())).status
  t.equal(await status(), 'bundle_ready')
  await writeFile(archive, 'damaged')
  t.equal(await status(), 'bundle_changed')
  await rm(join(folder, 'arxiv_handoff.json'))
  t.equal(await status(), 'bundle_missing')
})

t.test('without a setting each digest has its folder, and a folder of another publication is left alone', async t => {
  const root = project(t)
  const own = arxivAssist(partsWith({}, root))
  const receipt = await own.submit(arxivWork(), new Attempts().context())
  const { folder } = JSON.parse(receipt.metadata_json ?? '')
  t.equal(folder, join(root, 'arxiv', receipt.external_submission_id))
  t.match(await readHandoff(folder), { publication_id: 'svc-2026-1' })
  t.equal((await own.fetchStatus(receipt.external_submission_id, new Attempts().context())).status, 'bundle_ready')
  const shared = arxivAssist(partsWith({ arxiv_staging_dir: folder }, root))
  await t.rejects(shared.submit(arxivWork({ publication_id: 'other' }), new Attempts().context()), {
    failureClass: 'config',
    code: 'folder_in_use'
  })
  await shared.submit(arxivWork({ abstract_text: 'A new version.' }), new Attempts().context())
  t.match(await readHandoff(folder), { abstract: 'A new version.' }, 'another version replaces it')
})

t.test('a bundle with errors is not written, and the failure names them', async t => {
  const root = project(t)
  const archive = arxivAssist(partsWith({ arxiv_staging_dir: 'out' }, root))
  await t.rejects(archive.submit(arxivWork({ body_markdown: '漢 [@none]' }), new Attempts().context()), {
    failureClass: 'preflight',
    code: 'bundle_invalid',
    message: /arxiv_character_unsupported.*arxiv_citation_unknown/
  })
  t.notOk((await readdir(root)).includes('out'))
  await writeFile(join(root, 'file'), '')
  const blocked = arxivAssist(partsWith({ arxiv_staging_dir: 'file/out' }, root))
  await t.rejects(blocked.submit(arxivWork(), new Attempts().context()), {
    failureClass: 'transient',
    code: 'write_failed'
  })
})

t.test('images come from the project only, and have the content that their name says', async t => {
  const root = t.testdir({ outside: { 'secret.png': PNG }, project: { docs: { 'paper.md': '' } } })
  const inside = join(root, 'project')
  await symlink(join(root, 'outside/secret.png'), join(inside, 'docs/link.png'))
  await mkdir(join(inside, 'docs/folder.png'))
  await writeFile(join(inside, 'docs/fake.png'), 'GIF89a')
  const codes = async (path: string) => {
    const { handoff, contents } = await createBundle(arxivWork({ body_markdown: `![a](${path})` }), inside)
    return [handoff.findings.map(({ code }) => code), contents.size]
  }
  t.same(await codes('link.png'), [['arxiv_path_outside'], 1])
  t.same(await codes('../../outside/secret.png'), [['arxiv_path_outside'], 1])
  t.same(await codes('/etc/hostname.png'), [['arxiv_path_outside'], 1])
  t.same(await codes('folder.png'), [['arxiv_image_missing'], 1])
  t.same(await codes('a%00b.png'), [['arxiv_path_outside'], 1])
  t.same(await codes('fake.png'), [['arxiv_image_changed', 'arxiv_image_format'], 2])
  execFileSync('mkfifo', [join(inside, 'docs/pipe.png')])
  t.same(await codes('pipe.png'), [['arxiv_image_missing'], 1], 'a named pipe does not block')
})

t.test('an image that changed after the text was prepared is not put into the bundle', async t => {
  const root = project(t)
  const codes = async (sha3_256: string, path = 'figures/plot.png') => {
    const media = [{ path, media_type: 'image/png', bytes: PNG.length, sha3_256 }]
    const work = { ...arxivWork({ body_markdown: '![a](figures/plot.png)' }), metadata_json: JSON.stringify({ media }) }
    return (await createBundle(work, root)).handoff.findings.map(({ code }) => code)
  }
  const approved = createHash('sha3-256').update(PNG).digest('hex')
  t.notOk((await codes(approved)).includes('arxiv_image_changed'))
  t.ok((await codes('0'.repeat(64))).includes('arxiv_image_changed'))
  t.ok((await codes(approved, 'other.png')).includes('arxiv_image_changed'))
  const unlisted = { ...arxivWork(), metadata_json: '{}' }
  t.match((await createBundle(unlisted, root)).handoff.findings, [
    { code: 'arxiv_image_changed', severity: 'error', message: /from its file/ }
  ])
})

t.test('the layout of a bundle is checked', t => {
  const codes = (...files: Partial<BundleFile>[]) => {
    const findings = new Findings()
    const main = { name: 'main.tex', bytes: 1, head: Buffer.from('\\') }
    checkLayout([main, ...files.map(file => ({ name: 'a.sty', bytes: 1, head: Buffer.from(''), ...file }))], findings)
    return findings.list().map(({ code }) => code)
  }
  t.same(codes({ name: 'figures/a.png', head: PNG }), [])
  t.same(codes({ name: '/a.tex' }), ['arxiv_path_outside'])
  t.same(codes({ name: 'figures/../a.tex' }), ['arxiv_path_outside'])
  t.same(codes({ name: 'C:/a.tex' }), ['arxiv_path_outside'])
  t.same(codes({ name: '.hidden.tex' }), ['arxiv_hidden_file'])
  t.same(codes({ name: 'a b.tex' }), ['arxiv_file_name'])
  t.same(codes({ name: 'figures/deep/a.tex' }), ['arxiv_layout'])
  t.same(codes({ name: 'img/a.tex' }), ['arxiv_layout'])
  t.same(codes({ name: 'MAIN.tex' }), ['arxiv_layout'])
  t.same(codes({ name: 'a.exe' }), ['arxiv_file_type'])
  t.same(codes({ name: 'a.jpg', head: PNG }), ['arxiv_image_format'])
  t.same(codes({ name: 'a.png', head: PNG, bytes: 11 * 1024 * 1024 }), ['arxiv_figure_large'])
  t.same(codes({ bytes: 51 * 1024 * 1024 }), ['arxiv_size'])
  const findings = new Findings()
  checkLayout([], findings)
  t.match(findings.list(), [{ code: 'arxiv_layout', message: /main\.tex/ }])
  t.end()
})

t.test('a document is checked without LaTeX', t => {
  const codes = (body: string, end = '\\end{document}') => {
    const findings = new Findings()
    checkDocument(`\\documentclass{article}\\begin{document}${body}${end}`, [{ name: 'figures/a.png' }], findings)
    return findings.list().map(({ code }) => code)
  }
  t.same(codes('\\cite{a} \\bibitem{a} \\label{s} \\ref{s} \\includegraphics[width=1cm]{figures/a.png} \\% \\{'), [])
  t.same(codes('\\cite{a,b}\\bibitem{a}'), ['arxiv_citation_unknown'])
  t.same(codes('\\ref{x}'), ['arxiv_label_missing'])
  t.same(codes('\\includegraphics{b.png}'), ['arxiv_image_missing'])
  t.same(codes('{'), ['arxiv_braces_unbalanced'])
  t.same(codes('}{'), ['arxiv_braces_unbalanced', 'arxiv_braces_unbalanced'])
  t.same(codes('% } comment\n'), [])
  t.same(codes('\\begin{quote}'), ['arxiv_environment_unbalanced', 'arxiv_environment_unbalanced'])
  t.same(codes('\\end{quote}'), ['arxiv_environment_unbalanced', 'arxiv_environment_unbalanced'])
  t.same(codes('x', ''), ['arxiv_environment_unbalanced', 'arxiv_environment_unbalanced'])
  t.same(codes('\\input{x}'), ['arxiv_command_unknown'])
  t.same(codes('^^5c'), ['arxiv_command_unknown'])
  t.end()
})
