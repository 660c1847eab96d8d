import t from 'tap'
import { expectedIn, findings, lineOf, severityLetter, summary } from './corpus.ts'
import { WRONG } from './wrong-programs.ts'

const MIN_ERROR_SHARE = 0.88

for (const [kind, sources] of Object.entries(WRONG)) {
  t.test(`each wrong program has one finding, at its mistake: ${kind}`, async t => {
    for (const source of sources) {
      const { line, severities, codes } = expectedIn(source)
      const found = findings(source)
      const isRight = found.every(
        each => lineOf(each, source) === line && severities.includes(severityLetter(each)) && codes.includes(each.code)
      )
      t.ok(found.length === 1 && isRight, source, { found: found.map(each => summary(each, source)) })
    }
  })
}

t.setTimeout(300_000)

t.test('most mistakes are errors', async t => {
  const all = Object.values(WRONG).flat()
  const errors = all.filter(source => findings(source).some(({ severity }) => severity === 'error'))
  t.ok(errors.length / all.length >= MIN_ERROR_SHARE, `${errors.length} of ${all.length}`)
})
