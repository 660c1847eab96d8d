// Submits publications with processes that are killed at random steps, and counts the deposits of each digest.
// node --import=./test/typescript.mjs --conditions=svc-source test/soak/scholarly-kill.ts [SEEDS] [FIRST] [PARALLEL]
import '../../plugins/database/test/built-worker.ts'
import { runSeed, Templates } from '../../plugins/scholarly/test/kill/seed.ts'

const [seeds = 500, first = 1, parallel = 2] = process.argv.slice(2).map(Number)
const templates = await Templates.open()
const wrong: unknown[] = []
let next = first
let kills = 0
let stops = 0

async function work(): Promise<void> {
  while (next < first + seeds) {
    const seed = next++
    try {
      const report = await runSeed(templates, seed)
      kills += report.kills
      stops += report.stops
      const { deposits, published, submissions, jobStatus } = report
      if (deposits !== 1 || published !== 1 || submissions !== 1 || jobStatus !== 'succeeded') wrong.push(report)
    } catch (error) {
      wrong.push({ seed, error: String(error) })
    }
    if ((seed - first) % 50 === 49) console.log(`${seed - first + 1} seeds, ${kills} kills, ${wrong.length} wrong`)
  }
}

await Promise.all(Array.from({ length: parallel }, work))
await templates.close()
console.log(JSON.stringify({ seeds, kills, stops, wrong }, null, 2))
process.exitCode = wrong.length === 0 ? 0 : 1
