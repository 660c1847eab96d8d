import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { unpack } from '#root'
import { type Entry, tarOf } from './releases.ts'

const LIMITS = { maxBytes: 10_000, maxFiles: 50, strip: true }
const REFUSED = { code: 'UPD_ARCHIVE_INVALID' }

/** Unpacks entries into a new folder. Returns its paths, and whether anything appeared next to it. */
async function unpacked(entries: readonly Entry[] | Buffer, limits: Partial<typeof LIMITS> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'svc-unpack-'))
  try {
    const [file, folder] = [join(root, 'archive'), mkdtempSync(join(root, 'target-'))]
    writeFileSync(file, Buffer.isBuffer(entries) ? entries : gzipSync(tarOf(entries)))
    let error: unknown
    await unpack(file, folder, { ...LIMITS, ...limits }, new AbortController().signal).catch(cause => {
      error = cause
    })
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
    const contents = files
      .filter(path => statSync(join(folder, path)).isFile())
      .map(path => [path, readFileSync(join(folder, path), 'utf8'), statSync(join(folder, path)).mode & 0o777] as const)
    return { error, files, contents, outside: readdirSync(root).length !== 2 }
  } finally {
    rmSync(root, { recursive: true })
  }
}

t.test('files keep their content, and whether they are programs', async t => {
  const { error, contents } = await unpacked([
    { path: 'a/', type: 'Directory' },
    { path: 'a/one.txt', text: 'one', mode: 0o600 },
    { path: 'a/b/c/run', text: 'two', mode: 0o4777 },
    { path: 'a/empty', text: '' }
  ])
  t.equal(error, undefined)
  t.same(contents, [
    ['b/c/run', 'two', 0o755],
    ['empty', '', 0o644],
    ['one.txt', 'one', 0o644]
  ])
})

t.test('links, devices and paths that leave the folder are refused', async t => {
  const victim = join(tmpdir(), `svc-victim-${process.pid}`)
  const good: Entry = { path: 'a/good', text: 'x' }
  const cases: Readonly<Record<string, readonly Entry[]>> = {
    'a symbolic link': [good, { path: 'a/link', type: 'SymbolicLink', linkpath: victim }],
    'a file through a symbolic link': [
      { path: 'a/link', type: 'SymbolicLink', linkpath: tmpdir() },
      { path: `a/link/${victim.split('/').at(-1)}`, text: 'x' }
    ],
    'a hard link': [good, { path: 'a/link', type: 'Link', linkpath: '/etc/passwd' }],
    'a device': [{ path: 'a/null', type: 'CharacterDevice' }],
    'a pipe': [{ path: 'a/pipe', type: 'FIFO' }],
    'a path with ..': [{ path: 'a/../../outside', text: 'x' }],
    'a path that begins with ..': [{ path: '../outside', text: 'x' }],
    'an absolute path': [{ path: victim, text: 'x' }],
    'a drive': [{ path: 'C:/x', text: 'x' }],
    'a backslash': [{ path: 'a/..\\..\\x', text: 'x' }],
    'a second top folder': [good, { path: 'b/x', text: 'x' }],
    'a file without a folder': [{ path: 'x', text: 'x' }],
    'two files of one path': [good, { path: 'a/GOOD', text: 'y' }],
    'a file below a file': [good, { path: 'a/good/x', text: 'y' }],
    'a file that was a folder': [
      { path: 'a/b/c', text: 'y' },
      { path: 'a/b', text: 'y' }
    ],
    'a deep path': [{ path: `a/${'b/'.repeat(70)}c`, text: 'x' }],
    nothing: []
  }
  for (const [name, entries] of Object.entries(cases)) {
    const { error, outside } = await unpacked(entries)
    t.match(error, REFUSED, name)
    t.notOk(outside || existsSync(victim), `${name}: nothing is written elsewhere`)
  }
})

t.test('archives beyond the limits or damaged ones are refused', async t => {
  const big = [{ path: 'a/big', text: 'x'.repeat(20_000) }]
  t.match((await unpacked(big)).error, REFUSED, 'too large')
  const bomb = gzipSync(
    Buffer.concat([tarOf([{ path: 'a/x', text: 'x' }]).subarray(0, 1_024), Buffer.alloc(5_000_000)])
  )
  t.match((await unpacked(Buffer.concat([bomb, Buffer.from('x')]))).files.length <= 1, true, 'padding is not kept')
  const many = Array.from({ length: 60 }, (_, index) => ({ path: `a/${index}`, text: '' }))
  t.match((await unpacked(many)).error, REFUSED, 'too many files')
  const whole = gzipSync(tarOf([{ path: 'a/x', text: 'x'.repeat(5_000) }]))
  t.match((await unpacked(whole.subarray(0, -20))).error, REFUSED, 'cut off')
  t.match((await unpacked(Buffer.from('no archive'.repeat(100)))).error, REFUSED, 'something else')
  t.match((await unpacked(tarOf([{ path: 'a/x', text: 'xyz', size: 4_000 }]))).error, REFUSED, 'a wrong size')
})

t.test('no path of an archive is written outside of the folder', async t => {
  const part = fc.constantFrom('a', 'b', '..', '.', '', 'C:', '\\', 'x y', 'ä', '..\\..', '~', '\u0000')
  const path = fc.array(part, { minLength: 1, maxLength: 5 }).map(parts => parts.join('/'))
  const entry = fc.record({
    path,
    type: fc.constantFrom('File', 'Directory', 'SymbolicLink', 'Link'),
    text: fc.constant('x')
  })
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 4 }), async entries => {
      const { outside } = await unpacked(entries.map(each => ({ ...each, linkpath: '../../escape' })) as Entry[], {
        strip: false
      })
      return !outside
    }),
    { numRuns: 150 }
  )
  t.notOk(existsSync(join(tmpdir(), 'escape')))
})
