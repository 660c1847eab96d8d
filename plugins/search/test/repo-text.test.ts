import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { searchFiles } from '#root'

const { signal } = new AbortController()
const search = (root: string, terms: readonly string[], limits = { files: 100, limit: 5 }) =>
  searchFiles(root, terms, limits, { k1: 1.2, b: 0.75 }, signal)

t.test('does not read ignored files, and without git no built files', async t => {
  const files = {
    'a.ts': 'const zebra = 1',
    'ignored.ts': 'zebra',
    '.gitignore': 'ignored.ts\n',
    '.env': 'zebra',
    node_modules: { 'b.js': 'zebra' },
    src: { deep: { 'c.ts': 'function zebraCount() {}' } }
  }
  const git = t.testdir(files)
  execFileSync('git', ['init', '-q'], { cwd: git })
  const refs = async (root: string) => {
    const { hits: found, by } = await search(root, ['zebra'])
    return [by, ...found.map(({ title }) => title).toSorted()]
  }
  t.same(await refs(git), ['git', 'a.ts', 'node_modules/b.js', 'src/deep/c.ts'])
})

t.test('a walk skips built, hidden and linked folders', async t => {
  const outside = t.testdir({ out: { 'far.ts': 'zebra' }, in: { 'a.ts': 'zebra', dist: { 'b.ts': 'zebra' } } })
  const root = join(outside, 'in')
  symlinkSync(join(outside, 'out'), join(root, 'link'))
  symlinkSync(join(outside, 'out/far.ts'), join(root, 'far.ts'))
  // The test folder is inside this repository, which git would find.
  const PATH = process.env.PATH
  process.env.PATH = ''
  t.teardown(() => {
    process.env.PATH = PATH
  })
  const { hits: found, by } = await search(root, ['zebra'])
  t.equal(by, 'walk')
  t.same(
    found.map(({ title }) => title),
    ['a.ts']
  )
})

t.test('a reached limit is reported', async t => {
  const root = t.testdir(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}.txt`, 'zebra'])))
  execFileSync('git', ['init', '-q'], { cwd: root })
  const some = await search(root, ['zebra'], { files: 10, limit: 5 })
  t.match([some.filesRead, some.truncated, some.hits.length], [10, true, 5])
  t.equal((await search(root, ['zebra'])).truncated, false)
})

t.test('returns the best passage first, with its line', async t => {
  const filler = 'nothing of it here\n'.repeat(200)
  const root = t.testdir({ 'long.txt': `${filler}the quagga and the zebra\n${filler}`, 'short.txt': 'a zebra\n' })
  execFileSync('git', ['init', '-q'], { cwd: root })
  const { hits } = await search(root, ['zebra', 'quagga'])
  const [first] = hits
  t.match(first, { title: 'long.txt', key: `long.txt:${first?.line}` })
  t.match((first?.text ?? '').split('\n')[201 - (first?.line ?? 0)], /the quagga/)
})
