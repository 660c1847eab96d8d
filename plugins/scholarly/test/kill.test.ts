import t from 'tap'
import '../../database/test/built-worker.ts'
import { runSeed, Templates } from './kill/seed.ts'

// More seeds: node --import=./test/typescript.mjs --conditions=svc-source test/soak/scholarly-kill.ts 500
const SEEDS = [2, 3, 8]

t.test('a submission by processes that are killed and stopped creates exactly one deposit', async t => {
  const templates = await Templates.open()
  t.teardown(() => templates.close())
  for (const seed of SEEDS) {
    const report = await runSeed(templates, seed)
    t.match(report, { deposits: 1, published: 1, submissions: 1, jobStatus: 'succeeded', publicationState: 'done' })
  }
})
