import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { format } from '#format'
import { irDocument, printIr } from '#root'
import { parse } from '#syntax'

interface Hashes {
  readonly ir: string
  readonly text: string
}

const root = new URL('../../../../', import.meta.url).pathname
const fixture = new URL('fixtures/hashes.json', import.meta.url)

/** Hashes of the IR document and of the formatted text, by the hash of the source. */
const recorded: Readonly<Record<string, Hashes>> = JSON.parse(readFileSync(fixture, 'utf8'))

const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

/** Returns the programs of the examples and of the documentation, by their place. */
function programs(): Map<string, string> {
  const found = new Map<string, string>()
  const files = (folder: string, suffix: string): string[] =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith(suffix) && !name.includes('node_modules'))
      .sort()
      .map(name => join(folder, name))
  for (const path of files('examples', '.vox')) found.set(path, readFileSync(join(root, path), 'utf8'))
  for (const path of files('docs', '.md')) {
    const blocks = readFileSync(join(root, path), 'utf8').matchAll(/^```vox\n([\s\S]*?)^```$/gm)
    for (const [index, match] of [...blocks].entries()) found.set(`${path} ${index + 1}`, match[1] as string)
  }
  return found
}

function hashesOf(source: string): Hashes {
  const parsed = parse(source)
  const { metadata, ...document } = irDocument(parsed.module, source, new Date(0))
  return {
    ir: hash(printIr({ metadata: { ...metadata, compiler_version: '' }, ...document })),
    text: hash(format(parsed))
  }
}

// To record new programs, set SVC_UPDATE_IR_HASHES=1. A recorded program must not change its hashes unless its IR does.
t.test('IR documents and formatted texts of examples and documentation stay as they are', async t => {
  const found = programs()
  if (process.env.SVC_UPDATE_IR_HASHES !== undefined) {
    const rows = [...found.values()].map(source => [hash(source), hashesOf(source)] as const)
    writeFileSync(fixture, `${JSON.stringify(Object.fromEntries(rows.sort()), null, 2)}\n`)
    return
  }
  let known = 0
  for (const [place, source] of found) {
    const expected = recorded[hash(source)]
    if (expected === undefined) continue
    known++
    t.same(hashesOf(source), expected, place)
  }
  t.ok(known > 20, `${known} of ${found.size} programs are recorded`)
})
