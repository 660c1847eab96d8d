import t from 'tap'
import { corpusMutants, generatedMutants, type Survivor } from './mutants.ts'

t.setTimeout(600_000)

/** Share of mutants that the checker must reject. */
const MIN_REJECTED = 0.999

const texts = (survivors: readonly Survivor[]) => survivors.map(({ place, text }) => `${place}: ${text}`)

t.test('nearly all wrong types in right programs are rejected', async t => {
  const { count, survivors } = corpusMutants({ every: 4 })
  t.ok(count > 1_000)
  t.ok(1 - survivors.length / count >= MIN_REJECTED, `${survivors.length} of ${count}`, { survivors: texts(survivors) })
})

t.test(
  'generated programs have no error, end by named failures, and nearly all of their mutants are rejected',
  async t => {
    const { count, survivors, problems } = generatedMutants({ first: 1, programs: 100, each: 10 })
    t.same(problems, [])
    t.ok(count > 800)
    t.ok(1 - survivors.length / count >= MIN_REJECTED, `${survivors.length} of ${count}`, {
      survivors: texts(survivors)
    })
  }
)
