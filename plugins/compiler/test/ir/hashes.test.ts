import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { format } from '#format'
import { irDocument, printIr } from '#root'
import { parse } from '#syntax'
import { hash, programs } from './recorded-programs.ts'

interface Hashes {
  readonly ir: string
  readonly text: string
}

const fixture = new URL('fixtures/hashes.json', import.meta.url)

/** Hashes of the IR document and of the formatted text, by the hash of the source. */
const recorded: Readonly<Record<string, Hashes>> = JSON.parse(readFileSync(fixture, 'utf8'))

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
