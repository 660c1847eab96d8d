import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { checkModule } from '#check'
import { format } from '#format'
import { hasErrors, irDocument } from '#root'
import { parse } from '#syntax'
import { mutated, randomFrom } from '../mutated-source.ts'
import { hash, programs } from './recorded-programs.ts'

const fixture = new URL('fixtures/mutant-hashes.json', import.meta.url)

/** Number of mutants of a program. Fewer if most of them have errors. */
const MUTANTS = 40
const MAX_ATTEMPTS = 200

/** For each program, by the hash of its source: the hashes of its mutants with those of their IR and formatted text. */
const recorded: Readonly<Record<string, string>> = JSON.parse(readFileSync(fixture, 'utf8'))

/** Returns `source=output` hashes of mutants without errors. The pages of a mutant are not compared. */
function mutantsOf(source: string): string[] {
  const random = randomFrom(source.length)
  const found: string[] = []
  for (let attempt = 0; attempt < MAX_ATTEMPTS && found.length < MUTANTS; attempt++) {
    const text = mutated(source, random)
    const parsed = parse(text)
    if (hasErrors(parsed.diagnostics)) continue
    if (hasErrors(checkModule(parsed.module, { suppressHookLints: false }).diagnostics)) continue
    const { web_ir: _, ...module } = irDocument(parsed.module, text, new Date(0)).module
    found.push(`${hash(text).slice(0, 8)}=${hash(JSON.stringify(module) + format(parsed)).slice(0, 8)}`)
  }
  return found
}

t.setTimeout(300_000)

// To record new programs, set SVC_UPDATE_IR_HASHES=1.
t.test('IR and formatted texts of mutants of examples and documentation stay as they are', async t => {
  const sources = [...programs().values()]
  if (process.env.SVC_UPDATE_IR_HASHES !== undefined) {
    const rows = sources.map(source => [hash(source), mutantsOf(source).join(' ')] as const)
    writeFileSync(fixture, `${JSON.stringify(Object.fromEntries(rows.sort()), null, 2)}\n`)
    return
  }
  let compared = 0
  for (const source of sources) {
    const known = recorded[hash(source)]
    if (known === undefined) continue
    const outputs = new Map(known.split(' ').map(each => each.split('=') as [string, string]))
    for (const each of mutantsOf(source)) {
      const [text = '', output] = each.split('=')
      // A mutant that had an error when it was recorded has no hash.
      if (!outputs.has(text)) continue
      compared++
      if (outputs.get(text) !== output) t.fail(`a mutant of this program has another IR or text:\n${source}`)
    }
  }
  t.ok(compared > 1_000, `${compared} mutants were compared`)
})
