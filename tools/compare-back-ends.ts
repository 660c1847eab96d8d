// Runs generated programs in the interpreter and as translated TypeScript, and stores programs whose traces differ.
//
//   node --import tsx --conditions=svc-source tools/compare-back-ends.ts [--programs 200000] [--first 0] [--out FOLDER]
//
// Each program is determined by its number, so a range can be repeated. A stored program is the simplest that was found
// with a difference. Exits with 1 if there are any.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Choices, shrink } from '../test/language/choices.ts'
import { generateProgram } from '../test/language/generate.ts'
import { difference, runBoth } from '../test/language/run-both.ts'

const { values } = parseArgs({
  options: {
    programs: { type: 'string', default: '200000' },
    first: { type: 'string', default: '0' },
    out: { type: 'string', default: 'back-end-differences' }
  }
})

function flaw(source: string): string | null {
  try {
    return difference(runBoth(source))
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const first = Number(values.first)
let found = 0
for (let seed = first; seed < first + Number(values.programs); seed++) {
  const choices = Choices.seeded(seed)
  if (flaw(generateProgram(choices)) === null) continue
  found++
  const least = generateProgram(new Choices(shrink(choices.made, each => flaw(generateProgram(each)) !== null)))
  mkdirSync(values.out, { recursive: true })
  writeFileSync(join(values.out, `${seed}.vox`), `// ${flaw(least)?.replaceAll('\n', ' ')}\n${least}`)
  console.log(`program ${seed}: ${flaw(least)?.split('\n')[0]}`)
}
console.log(`ran ${values.programs} programs from ${first}: ${found} differences`)
process.exitCode = found === 0 ? 0 : 1
