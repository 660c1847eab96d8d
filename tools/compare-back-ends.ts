// Runs generated programs in the interpreter and as translated TypeScript, and stores programs whose traces differ.
//
//   node --import tsx --conditions=svc-source tools/compare-back-ends.ts [--programs 200000] [--first 0] [--processes 1]
//     [--out FOLDER]
//
// Each program is determined by its number, so a range can be repeated. A stored program is the simplest that was found
// with a difference. A run that is interrupted says how far it came. Exits with 1 if there are differences.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Choices } from '../test/language/choices.ts'
import { differenceOf, simplestProgram } from '../test/language/differences.ts'
import { generateProgram } from '../test/language/generate.ts'

const { values } = parseArgs({
  options: {
    programs: { type: 'string', default: '200000' },
    first: { type: 'string', default: '0' },
    processes: { type: 'string', default: '1' },
    out: { type: 'string', default: 'back-end-differences' }
  }
})

const [first, programs, processes] = [values.first, values.programs, values.processes].map(Number) as [
  number,
  number,
  number
]

/** Runs a range of programs in this process. Returns the number of differences. */
async function compare(): Promise<number> {
  let isStopped = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => (isStopped = true))
  let found = 0
  let seed = first
  for (; seed < first + programs && !isStopped; seed++) {
    // Signals are delivered between programs.
    await setImmediate()
    const choices = Choices.seeded(seed)
    const difference = differenceOf(generateProgram(choices))
    if (difference === null) continue
    found++
    const least = simplestProgram(choices.made)
    await mkdir(values.out, { recursive: true })
    await writeFile(join(values.out, `${seed}.vox`), `// ${difference.replaceAll('\n', ' ')}\n${least}`)
    console.log(`program ${seed}: ${differenceOf(least)?.split('\n')[0]}`)
  }
  console.log(`ran ${seed - first} programs from ${first}: ${found} differences`)
  return found
}

/** Runs the range in several processes. Returns the number of those that failed. */
async function compareInParts(): Promise<number> {
  const size = Math.ceil(programs / processes)
  const parts = Array.from({ length: processes }, (_, part) => {
    const start = first + part * size
    const count = Math.min(size, first + programs - start)
    const args = ['--first', String(start), '--programs', String(count), '--out', values.out]
    return fork(fileURLToPath(import.meta.url), args)
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      for (const part of parts) part.kill(signal)
    })
  }
  const codes = await Promise.all(parts.map(async part => (await once(part, 'exit'))[0] as number | null))
  return codes.filter(code => code !== 0).length
}

process.exitCode = (await (processes > 1 ? compareInParts() : compare())) === 0 ? 0 : 1
