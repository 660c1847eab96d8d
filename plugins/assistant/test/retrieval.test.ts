import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseStore } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { quote } from '#chat'
import { codeOf, fenced } from '#generate'
import { queryTerms, searchKnowledge, searchRepository } from '#retrieval'

const { signal } = new AbortController()
const LIMITS = { files: 100, results: 5 }

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
    const { found, by } = await searchRepository(root, ['zebra'], LIMITS, signal)
    return [by, ...found.map(({ ref }) => ref).toSorted()]
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
  const { found, by } = await searchRepository(root, ['zebra'], LIMITS, signal)
  t.equal(by, 'walk')
  t.same(
    found.map(({ ref }) => ref),
    ['a.ts']
  )
})

t.test('a reached limit is reported', async t => {
  const root = t.testdir(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}.txt`, 'zebra'])))
  execFileSync('git', ['init', '-q'], { cwd: root })
  const some = await searchRepository(root, ['zebra'], { files: 10, results: 5 }, signal)
  t.match([some.filesRead, some.truncated, some.found.length], [10, true, 5])
  t.equal((await searchRepository(root, ['zebra'], LIMITS, signal)).truncated, false)
})

t.test('returns the best passage first, with its line', async t => {
  const filler = 'nothing of it here\n'.repeat(200)
  const root = t.testdir({ 'long.txt': `${filler}the quagga and the zebra\n${filler}`, 'short.txt': 'a zebra\n' })
  execFileSync('git', ['init', '-q'], { cwd: root })
  const { found } = await searchRepository(root, ['zebra', 'quagga'], LIMITS, signal)
  t.match(found[0], { ref: 'long.txt', matched: ['quagga', 'zebra'] })
  const [first] = found
  t.match((first?.text ?? '').split('\n')[201 - (first?.line ?? 0)], /the quagga/)
})

t.test('scans an engine without a full-text index', async t => {
  const asked: string[] = []
  const store = {
    capabilities: async () => ({ fts: false }),
    query: async (sql: string) => {
      asked.push(sql)
      return { columns: [], rows: [['knowledge', 'n1', 'Zebra\nhas stripes', 1]] }
    }
  } as unknown as DatabaseStore
  t.match(await searchKnowledge(store, ['zebra'], 3), { by: 'scan', found: [{ ref: 'n1', matched: ['zebra'] }] })
  t.match(asked[0], /instr\(lower\(c\.body_text\), :t0\)/)
  t.match(await searchKnowledge(store, [], 3), { by: null, found: [] })
})

t.test('search terms are words except stop words, and the parts of compound names', async t => {
  t.same(queryTerms('Where is the retryBackoff of parse_file?'), [
    'retrybackoff',
    'retry',
    'backoff',
    'parse_file',
    'parse'
  ])
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 500 }), text => {
      const terms = queryTerms(text)
      return terms.length <= 24 && terms.every(term => term === term.toLowerCase() && !/["\s]/.test(term))
    })
  )
})

t.test('no text ends its own quotation, and none exceeds the limit', async t => {
  const texts = fc.array(fc.record({ label: fc.string(), text: fc.string({ unit: 'binary', maxLength: 300 }) }), {
    maxLength: 5
  })
  fc.assert(
    fc.property(texts, fc.nat(400), (materials, room) => {
      const { text, labels, dropped } = quote(materials, room)
      const mark = /<<<([0-9a-f]{16}) NAME/.exec(text)?.[1]
      if (mark === undefined) return labels.length === 0
      const pieces = text.split(`${mark}>>>`).length - 2
      return pieces === labels.length && dropped >= 0
    })
  )
  t.notSame(quote([{ label: 'a', text: 'b' }], 10).text, quote([{ label: 'a', text: 'b' }], 10).text)
})

t.test('extracts the program from an answer in any kind of wrapping', async t => {
  const code = 'fn f() {}\n'
  for (const answer of [
    code,
    `\uFEFF${code}`,
    `Sure:\n\`\`\`vox\r\nfn f() {}\r\n\`\`\`\nDone.`,
    `\`\`\`\n${code}\`\`\``,
    `\`\`\`sh\nnpm install a very long line\n\`\`\`\n~~~vox\n${code}~~~`,
    `Cut off:\n\`\`\`vox\n${code}`
  ])
    t.equal(codeOf(answer), code)
  fc.assert(
    fc.property(fc.string({ maxLength: 100 }), text => {
      const program = `fn f() { "${text.replaceAll('\r', '')}" }\n`
      return codeOf(fenced(program)) === program
    })
  )
})
